import type pg from 'pg'

/** The app's own tables. Numbered, forward only; each runs once, all under one lock. */
const MIGRATIONS: readonly string[] = [
  `
  create table support.knowledge (
    id              bigint generated always as identity primary key,
    title           text not null unique,
    body            text not null,
    -- Of another model, or null: embedded anew when next searched. Vectors of two models are never compared.
    embedding       real[],
    embedding_model text
  );

  -- What the client asked and was told, once per task; the history of later requests.
  create table support.exchanges (
    task_id         uuid primary key,
    client_id       text not null,
    request         text not null,
    answer          text not null,
    outcome         text not null,
    created_at      timestamptz not null default clock_timestamp(),
    embedding       real[],
    embedding_model text
  );
  -- History is always one client's: an exact search within it, never a filter behind an approximate one.
  create index exchanges_of_client on support.exchanges (client_id, created_at desc);

  -- The model's draft and what the check found, for the people who review answers.
  create table support.answers (
    task_id    uuid primary key,
    client_id  text not null,
    language   text not null,
    outcome    text not null,
    draft      text not null,
    problems   text[] not null,
    created_at timestamptz not null default clock_timestamp()
  );

  -- What the client is told: at most one row per task, whatever died in between.
  create table support.replies (
    task_id    uuid primary key,
    client_id  text not null,
    language   text not null,
    outcome    text not null check (outcome in ('answered', 'handed_to_person')),
    body       text not null,
    created_at timestamptz not null default clock_timestamp()
  );
  create index replies_of_client on support.replies (client_id, created_at desc);
  `,
]

/** Any number: it only has to differ from other locks in this database. */
const LOCK = 4_210_077_301

/** Safe when several processes start at once: one migrates, the others wait and find nothing to do. */
export async function migrate(pool: pg.Pool): Promise<void> {
  const client = await pool.connect()
  try {
    await client.query('begin')
    await client.query('select pg_advisory_xact_lock($1)', [LOCK])
    await client.query('create schema if not exists support')
    await client.query('create table if not exists support.migrations (version int primary key)')
    const { rows } = await client.query<{ version: number }>('select version from support.migrations')
    const applied = new Set(rows.map((row) => row.version))
    for (const [index, sql] of MIGRATIONS.entries()) {
      if (applied.has(index + 1)) continue
      await client.query(sql)
      await client.query('insert into support.migrations (version) values ($1)', [index + 1])
    }
    await client.query('commit')
    client.release()
  } catch (error) {
    // The connection may be what failed: it is not given back.
    client.release(true)
    throw error
  }
}
