import { randomUUID } from 'node:crypto'
import pg from 'pg'
import { expect, inject, onTestFinished, test } from 'vitest'
import { claimTasks } from '../../src/store/claim.ts'
import { openDatabase } from '../../src/store/database.ts'
import { checksumOf, migrate } from '../../src/store/migrate.ts'
import { MIGRATIONS } from '../../src/store/migrations/embedded.ts'
import { registerWorker } from '../../src/store/workers.ts'
import { createEmptyDatabase } from './empty-database.ts'

const ROWS = 1_000_000
const CLAIM_MS_MAX = 1_000
/** The schema that the library in test/library-before leaves. */
const BEFORE = 5

test('the migrations since the library before, over a million pending tasks, hold up no claim for a second', async () => {
  const database = await createEmptyDatabase(inject('postgresUrl'))
  const sql = new pg.Client({ connectionString: database.url })
  const db = openDatabase({ url: database.url, poolSize: 2 })
  onTestFinished(async () => {
    await Promise.all([sql.end(), db.close()])
    await database.drop()
  })
  await sql.connect()
  await migrateAsBefore(sql)
  await sql.query(
    `insert into foothold.tasks (id, agent, handler, status, run_at, created_at)
     select gen_random_uuid(), 'test', 'test@1', 'pending', clock_timestamp(), clock_timestamp() from generate_series(1, ${ROWS})`,
  )
  await sql.query('analyze foothold.tasks')

  // A worker of the library before: what it claims with asks for nothing that they bring.
  let slowestMs = 0
  let claims = 0
  let isOver = false
  const claiming = (async () => {
    while (!isOver) {
      const startedAt = performance.now()
      await sql.query(CLAIM_OF_BEFORE)
      slowestMs = Math.max(slowestMs, performance.now() - startedAt)
      claims += 1
    }
  })()
  const { applied } = await migrate({ url: database.url })
  isOver = true
  await claiming

  expect(applied).toEqual(MIGRATIONS.map(({ version }) => version).filter((version) => version > BEFORE))
  expect(claims).toBeGreaterThan(0)
  console.log(`Over ${ROWS} pending tasks: the slowest of ${claims} claims took ${Math.round(slowestMs)} ms`)
  expect(slowestMs).toBeLessThan(CLAIM_MS_MAX)
  const worker = {
    id: 'w',
    release: 'r',
    handlers: ['test@1'],
    concurrency: 1,
    heartbeatMs: 5_000,
    leaseMs: 20_000,
    hasLifeline: false,
  }
  await registerWorker(db, worker, new AbortController().signal)
  const request = {
    workerId: 'w',
    claimId: randomUUID(),
    handlers: ['test@1'],
    limit: 5,
    oldestFirst: false,
    kind: 'pending',
  } as const
  expect((await claimTasks(db, request)).claimed).toHaveLength(5)
}, 60_000)

const CLAIM_OF_BEFORE = `
  with c as materialized (
    select id from foothold.tasks where status = 'pending' and not suspect and handler = 'test@1'
    order by priority, run_at, id limit 20 for no key update skip locked)
  update foothold.tasks t set attempt = attempt + 1 from c where t.id = c.id`

/** As the library before leaves it. */
async function migrateAsBefore(sql: pg.Client): Promise<void> {
  await sql.query(`
    create schema foothold;
    create table foothold.migrations (
      version int primary key, name text not null, checksum text not null, applied_at timestamptz not null, breaking boolean not null)`)
  for (const migration of MIGRATIONS.filter(({ version }) => version <= BEFORE)) {
    await sql.query(migration.sql)
    await sql.query('insert into foothold.migrations values ($1, $2, $3, clock_timestamp(), $4)', [
      migration.version,
      migration.name,
      checksumOf(migration),
      migration.breaking,
    ])
  }
}
