import { fork } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { expect, inject, test } from 'vitest'
import { embedMigrations } from '../../scripts/embed-migrations.ts'
import { openDatabase } from '../../src/store/database.ts'
import { checksumOf, KNOWN_VERSION as KNOWN, migrate, requireSchema, schemaVersion } from '../../src/store/migrate.ts'
import { MIGRATIONS } from '../../src/store/migrations/embedded.ts'
import { createEmptyDatabase } from './empty-database.ts'

async function setup(): Promise<{ url: string; sql: pg.Client } & AsyncDisposable> {
  const database = await createEmptyDatabase(inject('postgresUrl'))
  const sql = new pg.Client({ connectionString: database.url })
  sql.on('error', () => {})
  await sql.connect()
  return {
    url: database.url,
    sql,
    async [Symbol.asyncDispose]() {
      await sql.end()
      await database.drop()
    },
  }
}

function startMigrating(url: string): { ended: Promise<{ code: number | null; report: string }>; kill(): void } {
  const child = fork(fileURLToPath(new URL('migrate-child.ts', import.meta.url)), [url], {
    execArgv: ['--conditions=@foothold/source', '--import', 'tsx'],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
  let report = ''
  child.on('message', (message) => {
    report = JSON.stringify(message)
  })
  return {
    ended: once(child, 'exit').then(([code]) => ({ code: code as number | null, report })),
    kill: () => child.kill('SIGKILL'),
  }
}

test('the embedded migrations are the .sql files', () => {
  const embedded = readFileSync(new URL('../../src/store/migrations/embedded.ts', import.meta.url), 'utf8')

  expect(embedded).toBe(embedMigrations())
})

test('an empty database gets the schema, and a second start is a no-op', async () => {
  await using world = await setup()

  expect(await migrate({ url: world.url })).toEqual({ version: KNOWN, applied: MIGRATIONS.map((m) => m.version) })
  expect(await migrate({ url: world.url })).toEqual({ version: KNOWN, applied: [] })
})

test('six processes that migrate an empty database at once all succeed, and each migration is applied once', async () => {
  await using world = await setup()

  const ends = await Promise.all(Array.from({ length: 6 }, () => startMigrating(world.url).ended))

  expect(ends.map((end) => end.code)).toEqual([0, 0, 0, 0, 0, 0])
  const applied = ends.flatMap((end) => (JSON.parse(end.report) as { applied: number[] }).applied)
  expect(applied.toSorted((a, b) => a - b)).toEqual(MIGRATIONS.map((m) => m.version))
  const rows = await world.sql.query('select version from foothold.migrations')
  expect(rows.rowCount).toBe(MIGRATIONS.length)
})

test('a process killed in mid-migration leaves nothing half done, and the others go on', async () => {
  await using world = await setup()
  // A schema that is being made by someone else holds the migration in its middle: behind its lock, after BEGIN.
  await world.sql.query('begin; create schema foothold')
  const victim = startMigrating(world.url)
  await untilBlocked(world.url)
  const others = [startMigrating(world.url), startMigrating(world.url)]
  victim.kill()
  await victim.ended
  await world.sql.query('rollback')

  const ends = await Promise.all(others.map((other) => other.ended))

  expect(ends.map((end) => end.code)).toEqual([0, 0])
  const rows = await world.sql.query('select version from foothold.migrations')
  expect(rows.rowCount).toBe(MIGRATIONS.length)
})

test('a process that waited while another one migrated sees what that one did', async () => {
  await using world = await setup()
  await world.sql.query('begin; select pg_advisory_xact_lock(7381240860042554468)')
  const waiting = migrate({ url: world.url })
  await untilBlocked(world.url)
  await world.sql.query(`
    create schema foothold;
    create table foothold.migrations (version int, name text, checksum text, applied_at timestamptz, breaking boolean)`)
  for (const migration of MIGRATIONS) {
    await world.sql.query('insert into foothold.migrations values ($1, $2, $3, now(), false)', [
      migration.version,
      migration.name,
      checksumOf(migration),
    ])
    await world.sql.query(migration.sql)
  }
  await world.sql.query('commit')

  expect(await waiting).toEqual({ version: KNOWN, applied: [] })
})

test('a role without the right to create anything can start once someone has migrated', async () => {
  await using world = await setup()
  await migrate({ url: world.url })
  const role = `reader_${process.pid}`
  await world.sql.query(`create role ${role} login password 'слово'`)
  try {
    await world.sql.query(`grant usage on schema foothold to ${role}; grant select on foothold.migrations to ${role}`)
    const url = new URL(world.url)
    url.username = role
    url.password = 'слово'
    // A lock held by somebody else must not matter either.
    await world.sql.query('begin; select pg_advisory_xact_lock(7381240860042554468)')

    expect(await migrate({ url: url.href })).toEqual({ version: KNOWN, applied: [] })
  } finally {
    await world.sql.query(`rollback; drop owned by ${role}; drop role ${role}`)
  }
})

test('a migration that was applied with other contents is refused', async () => {
  await using world = await setup()
  await migrate({ url: world.url })
  await world.sql.query(`update foothold.migrations set checksum = 'другое' where version = 1`)

  await expect(migrate({ url: world.url })).rejects.toMatchObject({
    code: 'MIGRATION_CHANGED',
    details: { version: 1 },
  })
})

test('a newer schema is refused when it is breaking, and accepted when it is not', async () => {
  await using world = await setup()
  await migrate({ url: world.url })
  const newer = KNOWN + 1
  await world.sql.query(`insert into foothold.migrations values (${newer}, 'next', 'x', now(), false)`)

  expect(await migrate({ url: world.url })).toEqual({ version: newer, applied: [] })

  await world.sql.query(`update foothold.migrations set breaking = true where version = ${newer}`)
  await expect(migrate({ url: world.url })).rejects.toMatchObject({
    code: 'SCHEMA_NEWER',
    details: { found: newer, known: KNOWN },
  })
})

test('migrations that are missing below one that has been applied are applied all the same', async () => {
  await using world = await setup()
  const [first] = MIGRATIONS
  if (first === undefined) throw new Error('There is no migration.')
  await world.sql.query(`
    create schema foothold;
    create table foothold.migrations (version int primary key, name text, checksum text, applied_at timestamptz, breaking boolean);
    insert into foothold.migrations values (${first.version}, 'core', '${checksumOf(first)}', now(), false), (9999, 'later', 'x', now(), false)`)
  await world.sql.query(first.sql)

  const report = await migrate({ url: world.url })

  expect(report).toEqual({ version: 9999, applied: MIGRATIONS.slice(1).map((migration) => migration.version) })
  expect(await migrate({ url: world.url })).toEqual({ version: 9999, applied: [] })
})

test('a database without the schema says so to a process that must not migrate', async () => {
  await using world = await setup()
  const db = openDatabase({ url: world.url, poolSize: 1 })
  try {
    expect(await schemaVersion(db)).toBe(0)
    await expect(requireSchema(db)).rejects.toMatchObject({ code: 'SCHEMA_MISSING' })

    await migrate({ url: world.url })

    expect(await schemaVersion(db)).toBe(KNOWN)
    await requireSchema(db)
  } finally {
    await db.close()
  }
})

async function untilBlocked(url: string): Promise<void> {
  // A session of its own: the transaction that blocks would see one snapshot of pg_stat_activity only.
  const watcher = new pg.Client({ connectionString: url })
  await watcher.connect()
  try {
    for (;;) {
      const blocked = await watcher.query(
        `select 1 from pg_stat_activity where datname = current_database() and application_name = 'foothold migrate' and wait_event_type = 'Lock'`,
      )
      if (blocked.rowCount !== 0) return
    }
  } finally {
    await watcher.end()
  }
}
