import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startDevPostgres } from '@foothold/dev-postgres'
import pg from 'pg'
import { expect, inject, onTestFinished, test } from 'vitest'
import type { TaskId } from '../../src/index.ts'
import { TerminalError } from '../../src/index.ts'
import { INVARIANTS } from '../../src/store/invariants.ts'
import { movableClock } from '../../src/testing/index.ts'
import { createEmptyDatabase } from '../integration/empty-database.ts'
import { agentOf, gate, until } from '../integration/world.ts'
import { type CliWorld, cli, cliWorld } from './cli-world.ts'

interface Report {
  readonly level: string
  readonly checks: readonly { readonly name: string; readonly level: string; readonly text: string }[]
}

async function doctor(world: CliWorld): Promise<Report> {
  return (await world.cli('doctor', '--json')).json() as Report
}

/** The settings of the tests' server are its own affair: it may run without fsync. */
const SERVER = ['server', 'writable', 'durability', 'full page writes', 'connections', 'oldest snapshot', 'clock']

function complaintsOf({ checks }: Report): string[] {
  return checks.filter(({ name, level }) => level !== 'ok' && !SERVER.includes(name)).map(({ name }) => name)
}

/** A task of every kind of standing, left behind by a real worker. */
async function inhabited(): Promise<{ world: CliWorld; ids: Record<string, TaskId> }> {
  const world = await cliWorld()
  const held = gate()
  const agent = agentOf(async (task, input) => {
    await task.step('начало', () => 'есть')
    if (input === 'running') await held.opened
    if (input === 'sleeping') await task.sleep('пауза', 3_600_000)
    if (input === 'dead') throw new TerminalError('не вышло')
    if (input === 'doubtful') {
      await task.effect('возврат', {
        request: { сумма: 100 },
        onDoubt: 'ask',
        send: async () => {
          throw new Error('связь оборвалась')
        },
      })
    }
    await task.effect('письмо', { request: {}, keyWindowMs: 60_000, send: async () => 'ушло' })
    return 'готово'
  })
  await world.worker([agent])
  const ids: Record<string, TaskId> = {}
  const wanted = {
    done: 'completed',
    running: 'processing',
    sleeping: 'waiting',
    dead: 'dead_letter',
    doubtful: 'waiting',
  }
  for (const name of Object.keys(wanted)) ids[name] = (await world.foothold.submit('test', name)).id
  for (const [name, status] of Object.entries(wanted)) {
    await until(`${name} is ${status}`, async () => (await world.foothold.task(ids[name] as TaskId))?.status === status)
  }
  return { world, ids }
}

test('a system at work breaks no invariant; what waits for a person is a warning', async () => {
  const { world } = await inhabited()

  const report = await doctor(world)

  expect(complaintsOf(report)).toEqual(['dead letters', 'decisions'])
  expect(report.checks.map(({ name }) => name)).toEqual(expect.arrayContaining(INVARIANTS.map(({ name }) => name)))
})

const LATER = `foothold.clock() - interval '2 minutes'`

/** What somebody's hand, a partial restore or a defect could do to the tables, and what is said about it. */
const HARM: readonly [string, string, (ids: Record<string, TaskId>) => string][] = [
  [
    'owners',
    'error',
    ({ running }) =>
      `update foothold.tasks set status = 'processing', worker_id = 'ушёл', attempt = 2, claimed_at = ${LATER} where id = '${running}'`,
  ],
  ['wakes', 'error', ({ sleeping }) => `update foothold.tasks set wake_at = null where id = '${sleeping}'`],
  ['wakes', 'error', ({ sleeping }) => `update foothold.tasks set wake_at = ${LATER} where id = '${sleeping}'`],
  [
    'wakes',
    'error',
    ({ doubtful }) => `update foothold.agent_steps set status = 'failed' where task_id = '${doubtful}'`,
  ],
  [
    'wakes',
    'error',
    ({ sleeping }) => `update foothold.tasks set wake_at = null, waiting_for = 'signal' where id = '${sleeping}'`,
  ],
  ['claims', 'error', ({ done }) => `update foothold.tasks set finished_at = null where id = '${done}'`],
  ['attempts', 'error', ({ dead }) => `delete from foothold.attempts where task_id = '${dead}'`],
  ['completions', 'error', ({ done }) => `update foothold.attempts set outcome = 'orphaned' where task_id = '${done}'`],
  ['fences', 'error', ({ sleeping }) => `update foothold.agent_steps set attempt = 7 where task_id = '${sleeping}'`],
  ['payloads', 'error', ({ dead }) => `delete from foothold.task_payloads where task_id = '${dead}'`],
  ['keys', 'error', () => `update foothold.agent_steps set idempotency_key = 'один' where kind = 'effect'`],
  [
    'doubts',
    'warning',
    ({ done }) => `update foothold.agent_steps set status = 'intent' where task_id = '${done}' and kind = 'effect'`,
  ],
  [
    'cancels',
    'warning',
    ({ running }) => `
      with w as (
        insert into foothold.workers (id, release, handlers, concurrency, status, started_at, last_heartbeat_at, lease_ms, lease_until, steady_since)
        select 'жив', 'r', '{}', 1, 'active', c, c, 60000, c + interval '1 hour', c from foothold.clock() c)
      update foothold.tasks set status = 'processing', worker_id = 'жив', attempt = 2, claimed_at = ${LATER}, cancel_requested_at = ${LATER}
      where id = '${running}'`,
  ],
  ['handlers', 'error', ({ running }) => `update foothold.tasks set run_at = ${LATER} where id = '${running}'`],
  [
    'workers',
    'warning',
    () => `
      insert into foothold.workers (id, release, handlers, concurrency, status, started_at, last_heartbeat_at, lease_ms, lease_until, steady_since)
      select 'молчит', 'r', '{}', 1, 'draining', c, c, 1000, ${LATER}, c from foothold.clock() c`,
  ],
]

test('each way of breaking the tables is found, under its own name alone', { timeout: 90_000 }, async () => {
  const { world, ids } = await inhabited()
  // Without live workers nobody mends meanwhile what is broken here; what was running is pending.
  await world.stopWorkers()
  const keep = await keeper(world)
  const before = new Map((await doctor(world)).checks.map(({ name, level }) => [name, level]))
  expect(before.get('handlers')).toBe('warning')

  for (const [name, level, harm] of HARM) {
    await world.query(harm(ids))
    const { checks } = await doctor(world)

    const changed = checks.filter((check) => check.level !== before.get(check.name))
    // A task that is not pending any more takes its own complaint away.
    const worse = changed.filter((check) => check.level !== 'ok')
    expect(
      worse.map((check) => `${check.name} ${check.level}`),
      harm(ids),
    ).toEqual([`${name} ${level}`])
    await keep.restore()
  }
})

/** The tables as they are now, to go back to. */
async function keeper(world: CliWorld): Promise<{ restore(): Promise<void> }> {
  const tables = ['tasks', 'task_payloads', 'agent_steps', 'attempts', 'workers']
  for (const table of tables) await world.query(`create table kept_${table} as table foothold.${table}`)
  return {
    async restore() {
      for (const table of tables) {
        await world.query(`delete from foothold.${table}`)
        await world.query(`insert into foothold.${table} table kept_${table}`)
      }
    },
  }
}

test('a clock that a test has moved is found', async () => {
  const world = await cliWorld()
  await movableClock(world.ownerUrl).advance(3_600_000)

  expect(complaintsOf(await doctor(world))).toEqual(['schema clock'])
})

test('a database without the schema is an error that names the cure, and migrating is one', async () => {
  const database = await createEmptyDatabase(inject('postgresUrl'))
  onTestFinished(() => database.drop())
  const env = { DATABASE_URL: database.url }

  const before = await cli(['doctor'], env)
  const migrated = await cli(['migrate'], env)
  const after = await cli(['doctor'], env)

  expect(before).toMatchObject({
    code: 1,
    stdout: expect.stringMatching(/error +schema +there is none\n +Run: foothold migrate/),
  })
  expect(migrated).toMatchObject({ code: 0, stdout: expect.stringMatching(/version \d+; applied 1/) })
  expect(after.stdout).toMatch(/ok +schema +version \d+/)
})

test('a server that keeps what it acknowledges is well, and one told not to is an error', {
  timeout: 60_000,
}, async () => {
  const folder = mkdtempSync(join(tmpdir(), 'foothold-doctor-'))
  chmodSync(folder, 0o755)
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const server = await startDevPostgres({ dataDir: join(folder, 'postgres') })
  onTestFinished(() => server.stop())
  const env = { DATABASE_URL: server.url }
  await cli(['migrate'], env)

  const well = await cli(['doctor', '--json'], env)
  const session = new pg.Client({ connectionString: server.url })
  await session.connect()
  await session.query('alter role current_user set synchronous_commit = off')
  await session.end()
  const ill = await cli(['doctor'], env)

  expect(well.json()).toMatchObject({ level: 'ok' })
  expect(well.code).toBe(0)
  expect(ill.stdout).toMatch(/error +durability +less than a disk/)
  expect(ill.code).toBe(1)
})

test('a role that may only read sees the same, and is told what it cannot see', async () => {
  const { world } = await inhabited()
  const role = `читатель_${process.pid}`
  await world.query(`create role "${role}" login password 'тайна'`)
  onTestFinished(async () => {
    const session = new pg.Client({ connectionString: inject('postgresUrl') })
    await session.connect()
    await session.query(`drop role "${role}"`)
    await session.end()
  })
  await world.query(`grant usage on schema foothold to "${role}"`)
  const url = new URL(world.url)
  url.username = encodeURIComponent(role)
  url.password = encodeURIComponent('тайна')

  const blind = await cli(['doctor'], { DATABASE_URL: url.href })
  await world.query(`grant select on all tables in schema foothold to "${role}"`)
  const seeing = await cli(['doctor', '--json'], { DATABASE_URL: url.href })
  await world.query(`drop owned by "${role}"`)

  expect(blind).toMatchObject({ code: 1, stdout: expect.stringMatching(/error +schema .*permission denied/) })
  expect(complaintsOf(seeing.json() as Report)).toEqual(['dead letters', 'decisions'])
  expect(seeing.stdout).toContain('grant pg_read_all_stats for all')
})
