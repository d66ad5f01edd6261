import { randomUUID } from 'node:crypto'
import { describe, expect, onTestFinished, test } from 'vitest'
import { startPruner } from '../../src/maintenance/prune.ts'
import { retentionDays } from '../../src/protocol/retention.ts'
import { type Database, openDatabase } from '../../src/store/database.ts'
import { pruneTasks } from '../../src/store/prune.ts'
import { movableClock } from '../../src/testing/index.ts'
import { agentOf, setup, until, type World } from './world.ts'

const DAY_MS = 86_400_000
const TABLES = ['tasks', 'task_payloads', 'agent_steps', 'attempts', 'signals', 'stream_chunks', 'alerts', 'dedupe']

async function counts({ query }: World): Promise<Record<string, number>> {
  const text = TABLES.map((table) => `(select count(*)::int from foothold.${table}) as ${table}`).join(', ')
  return (await query<Record<string, number>>(`select ${text}`))[0] ?? {}
}

function databaseOf({ url }: World): Database {
  const db = openDatabase({ url, poolSize: 2 })
  onTestFinished(() => db.close())
  return db
}

const lively = agentOf(async (task, input) => {
  await task.step('пишу', ({ emit }) => emit('text', 'слово'))
  return input
})

test('what has ended goes after its time with all that belongs to it; dead letters and what is under way stay', async () => {
  const world = await setup()
  const { foothold, worker } = world
  const clock = movableClock(world.ownerUrl)
  await worker([lively, agentOf(async (task) => task.sleep('год', 365 * DAY_MS), { name: 'long' })])
  const done = await foothold.submit(lively, 'да', { dedupeKey: 'письмо-1' })
  await done.result()
  const cancelled = await foothold.submit(lively, 'да', { runAt: new Date('2100-01-01') })
  await cancelled.cancel()
  const long = await foothold.submit('long', null)
  await until('it sleeps', async () => (await long.state()).status === 'waiting')
  const dead = await foothold.submit(lively, 'нет')
  await dead.result()
  await world.query(
    `update foothold.tasks set status = 'dead_letter', worker_id = null, claim_id = null, wake_at = null,
    waiting_for = null, last_reason = 'budget', finished_at = foothold.clock() where id = $1`,
    [dead.id],
  )
  const before = await counts(world)

  await clock.advance(29 * DAY_MS)
  expect(await foothold.prune()).toMatchObject({ tasks: 0 })
  // Emitted text alone has a day.
  const chunks = await world.query<{ task: string }>('select distinct task_id as task from foothold.stream_chunks')
  expect(chunks).toEqual([{ task: dead.id }])
  expect(await counts(world)).toEqual({ ...before, stream_chunks: expect.any(Number) })

  await clock.advance(2 * DAY_MS)
  expect(await foothold.prune({ isDryRun: true })).toMatchObject({ tasks: 2, dedupeKeys: 1 })
  expect(await foothold.prune()).toMatchObject({ tasks: 2, dedupeKeys: 1 })

  const left = await world.query<{ id: string }>('select id from foothold.tasks order by id')
  expect(left.map(({ id }) => id)).toEqual([long.id, dead.id].sort())
  for (const table of TABLES.slice(1, -1)) {
    expect(
      await world.query(
        `select 1 from foothold.${table} x where not exists (select 1 from foothold.tasks t where t.id = x.task_id)`,
      ),
    ).toEqual([])
  }
  expect(await foothold.prune({ retention: { deadLetterDays: 14 } })).toMatchObject({ tasks: 1 })
  expect((await foothold.prune()).tasks).toBe(0)
})

test('a child stays until its parent has ended: a dead letter that is resumed still finds what it answered', async () => {
  const world = await setup()
  const { foothold, query } = world
  const clock = movableClock(world.ownerUrl)
  await world.worker([lively])
  const [child, parent] = [await foothold.submit(lively, 'да'), await foothold.submit(lively, 'нет')]
  await Promise.all([child.result(), parent.result()])
  await query('update foothold.tasks set parent_id = $2 where id = $1', [child.id, parent.id])
  await query(`update foothold.tasks set status = 'dead_letter' where id = $1`, [parent.id])
  await clock.advance(31 * DAY_MS)

  expect(await foothold.prune()).toMatchObject({ tasks: 0 })
  await query(`update foothold.tasks set status = 'cancelled' where id = $1`, [parent.id])
  expect(await foothold.prune()).toMatchObject({ tasks: 2 })
})

describe('a dedupe key', () => {
  test('outlives its task: what its source delivers again starts nothing', async () => {
    const world = await setup()
    const { foothold, worker } = world
    const clock = movableClock(world.ownerUrl)
    const runs: unknown[] = []
    await worker([agentOf(async (_task, input) => void runs.push(input))])
    const deliver = () => foothold.submit('test', 'письмо', { dedupeKey: 'почта-17', dedupeDays: 90 })
    const first = await deliver()
    await first.result()

    await clock.advance(60 * DAY_MS)
    expect(await foothold.prune()).toMatchObject({ tasks: 1, dedupeKeys: 0 })
    const again = await deliver()
    expect({ id: again.id, created: again.created }).toEqual({ id: first.id, created: false })
    expect(runs).toEqual(['письмо'])

    // Without the guard, a key that goes with its task: the letter is answered twice.
    await world.query(
      'delete from foothold.dedupe k where not exists (select 1 from foothold.tasks t where t.id = k.task_id)',
    )
    await (await deliver()).result()
    expect(runs).toEqual(['письмо', 'письмо'])
  })

  test('goes after its own time', async () => {
    const world = await setup()
    const { foothold } = world
    const clock = movableClock(world.ownerUrl)
    await world.worker([agentOf(async () => null)])
    await (await foothold.submit('test', 1, { dedupeKey: 'а', dedupeDays: 2 })).result()
    await (await foothold.submit('test', 1, { dedupeKey: 'б' })).result()

    await clock.advance(3 * DAY_MS)

    expect(await foothold.prune()).toMatchObject({ tasks: 0, dedupeKeys: 1 })
    expect(await world.query('select key from foothold.dedupe')).toEqual([{ key: 'б' }])
  })

  test('of a task that has not ended is renewed before its time, whoever looks at it then', async () => {
    const world = await setup()
    const { foothold } = world
    const clock = movableClock(world.ownerUrl)
    await world.worker([agentOf(async () => null)])
    const far = new Date('2100-01-01')
    const deliver = () => foothold.submit('test', 1, { dedupeKey: 'а', runAt: far })
    const first = await deliver()

    await clock.advance(29.5 * DAY_MS)
    await foothold.prune()
    await clock.advance(1 * DAY_MS)
    expect((await deliver()).id).toBe(first.id)
    const sql = await world.query<{ created: boolean }>(
      `select created from foothold.submit('test', '1', dedupe_key => 'а', run_at => '2100-01-01')`,
    )
    expect(sql).toEqual([{ created: false }])

    // Without the renewal the same delivery is a second task.
    await world.query(`update foothold.dedupe set expires_at = foothold.clock()`)
    expect((await deliver()).id).not.toBe(first.id)
  })

  test('more than a page of keys is looked at, whichever stay', async () => {
    const world = await setup()
    await world.query(
      `insert into foothold.dedupe (agent, tenant, key, task_id, body_hash, expires_at)
       select 'test', '', n::text, gen_random_uuid(), '', foothold.clock() + case when n % 2 = 0 then -1 else 0.5 end * interval '1 day'
       from generate_series(1, 3000) n`,
    )

    expect(await world.foothold.prune({ isDryRun: true })).toMatchObject({ dedupeKeys: 1500 })
    expect(await world.foothold.prune()).toMatchObject({ dedupeKeys: 1500 })
    expect(
      await world.query('select count(*)::int as n from foothold.dedupe where expires_at > foothold.clock()'),
    ).toEqual([{ n: 1500 }])
  })
})

test('a crash in the middle of a page leaves nothing half, and a task that is being restarted stays', async () => {
  const world = await setup()
  const { foothold, query, session } = world
  const db = databaseOf(world)
  await world.worker([lively])
  const [one, other] = [await foothold.submit(lively, 'а'), await foothold.submit(lively, 'б')]
  await Promise.all([one.result(), other.result()])
  const before = await counts(world)
  const days = retentionDays('', { endedDays: 0 })
  // Somebody restarts one of them, and holds a step of the other, on which the statement then waits.
  const restarting = await session()
  await restarting.query('begin')
  await restarting.query(`update foothold.tasks set status = 'pending' where id = $1`, [one.id])
  const holding = await session()
  await holding.query('begin')
  await holding.query(`select 1 from foothold.agent_steps where task_id = $1 for update`, [other.id])

  const pruning = pruneTasks(db, { after: null, days, isDryRun: false })
  const failed = expect(pruning).rejects.toThrow()
  const { pid } = await until('the statement waits', async () => {
    const rows = await query<{ pid: number }>(
      `select pid from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and query like '%page as materialized%'`,
    )
    return rows[0]
  })
  await query('select pg_terminate_backend($1)', [pid])
  await failed
  expect(await counts(world)).toEqual(before)

  await holding.query('rollback')
  expect(await pruneTasks(db, { after: null, days, isDryRun: false })).toMatchObject({ removed: 1 })
  await restarting.query('commit')
  expect(await one.result()).toBe('а')
  expect(await query('select id from foothold.tasks')).toEqual([{ id: one.id }])
})

test('workers that are gone are forgotten after a week, unless they still hold something', async () => {
  const world = await setup()
  const { foothold, query } = world
  const clock = movableClock(world.ownerUrl)
  await (await world.worker([agentOf(async () => null)])).drain()
  await query(
    `insert into foothold.workers (id, release, handlers, concurrency, status, started_at, last_heartbeat_at, lease_ms, lease_until, steady_since)
     select s, 'r', '{}', 1, 'lost', foothold.clock(), foothold.clock(), 1000, foothold.clock(), foothold.clock() from unnest('{lost,holds}'::text[]) s`,
  )
  await query(
    `insert into foothold.tasks (id, agent, handler, status, run_at, attempt, worker_id, created_at)
     values ($1, 'a', 'a@1', 'processing', foothold.clock(), 1, 'holds', foothold.clock())`,
    [randomUUID()],
  )

  await clock.advance(6.9 * DAY_MS)
  expect(await foothold.prune()).toMatchObject({ workers: 0 })
  await clock.advance(0.2 * DAY_MS)
  expect(await foothold.prune({ isDryRun: true })).toMatchObject({ workers: 2 })
  expect(await foothold.prune()).toMatchObject({ workers: 2 })
  expect(await query('select id from foothold.workers')).toEqual([{ id: 'holds' }])
})

test('an alert group goes with the last of its tasks', async () => {
  const world = await setup()
  const clock = movableClock(world.ownerUrl)
  await world.query(
    `insert into foothold.alert_groups (agent, reason, opened_at, last_alert_at, resolved_at, look_at, changed_at, takes_alerts)
     select r, r, foothold.clock(), foothold.clock(), foothold.clock(), foothold.clock(), foothold.clock(), false from unnest('{a,b}'::text[]) r`,
  )
  await world.query(
    `insert into foothold.alert_deliveries (group_id, channel, due_at) select id, 'c', foothold.clock() from foothold.alert_groups`,
  )
  await world.query(
    `insert into foothold.alerts (task_id, attempt, agent, reason, at, group_id)
     select gen_random_uuid(), 1, 'a', 'a', foothold.clock(), id from foothold.alert_groups where agent = 'a'`,
  )

  await clock.advance(31 * DAY_MS)

  expect(await world.foothold.prune()).toMatchObject({ alertGroups: 1 })
  expect(
    await world.query('select agent from foothold.alert_groups join foothold.alert_deliveries on group_id = id'),
  ).toEqual([{ agent: 'a' }])
})

test('20,000 tasks are removed by two workers side by side while claims go on, no statement long', {
  timeout: 90_000,
}, async () => {
  const world = await setup()
  const { foothold, query } = world
  await query(
    `with t as (
       insert into foothold.tasks (id, agent, handler, status, run_at, attempt, created_at, finished_at)
       select (lpad(to_hex((extract(epoch from foothold.clock() - interval '40 days') * 1000)::bigint + n), 12, '0') || '7000' || substr(md5(n::text), 1, 16))::uuid,
         'old', 'old@1', case when n % 100 = 0 then 'dead_letter' else 'completed' end, foothold.clock() - interval '40 days', 1,
         foothold.clock() - interval '40 days', foothold.clock() - interval '40 days'
       from generate_series(1, 20000) n returning id),
     p as (insert into foothold.task_payloads (task_id, input, output) select id, json_build_object('text', repeat('ы', 500)), '1' from t),
     a as (insert into foothold.attempts (task_id, attempt, worker_id, started_at, ended_at, outcome)
           select id, 1, 'w', foothold.clock(), foothold.clock(), 'completed' from t)
     insert into foothold.agent_steps (task_id, key, kind, status, attempt, worker_id, output, started_at)
     select id, s, 'step', 'completed', 1, 'w', '"результат"', foothold.clock() from t, unnest('{план,ответ,запись}'::text[]) s`,
  )
  await query('analyze foothold.tasks, foothold.task_payloads, foothold.agent_steps, foothold.attempts')
  const took: number[] = []
  const timed = (db: Database): Database => ({
    ...db,
    async run(text, values, options) {
      const startedAt = performance.now()
      const rows = await db.run<never>(text, values, options)
      if (options.doing === 'pruning tasks') took.push(performance.now() - startedAt)
      return rows
    },
  })
  await world.worker([agentOf(async () => null)])
  const logger = { debug() {}, info() {}, warn() {}, error() {} }
  const pruners = ['а', 'б'].map((id) =>
    startPruner({
      db: timed(databaseOf(world)),
      workerId: () => id,
      days: retentionDays(''),
      logger,
      onError: (error) => expect.unreachable(String(error)),
      firstLookMs: 1,
    }),
  )
  const left = async () =>
    (await query<{ n: number }>(`select count(*)::int as n from foothold.tasks where agent = 'old'`))[0]?.n
  const roundTrips: number[] = []
  while ((await left()) !== 200) {
    const startedAt = performance.now()
    await (await foothold.submit('test', null)).result({ timeoutMs: 30_000 })
    roundTrips.push(performance.now() - startedAt)
  }
  await Promise.all(pruners.map((pruner) => pruner.stop()))

  const worst = (list: number[]): number => Math.round(Math.max(...list))
  console.log(
    `pruning: ${took.length} statements, worst ${worst(took)} ms; ${roundTrips.length} tasks meanwhile, worst ${worst(roundTrips)} ms`,
  )
  expect(await query(`select distinct status from foothold.tasks where agent = 'old'`)).toEqual([
    { status: 'dead_letter' },
  ])
  expect(await query('select count(*)::int as n from foothold.agent_steps')).toEqual([{ n: 600 }])
  expect(worst(took)).toBeLessThan(2_000)
  expect(worst(roundTrips)).toBeLessThan(10_000)
})

test.for([
  [
    { endedDays: -1 },
    'options.retention.endedDays: -1 is not a number of days from 0 to 36500. Use Infinity to keep them for ever.',
  ],
  [{ endedDays: '30' }, 'options.retention.endedDays: a value of type string is not a number of days from 0 to 36500.'],
  [{ chunkDays: Number.NaN }, 'options.retention.chunkDays: NaN is not'],
  [
    { days: 3 },
    'options.retention.days: there is no such option. Known: endedDays, deadLetterDays, chunkDays, workerDays.',
  ],
  [7, 'options.retention: it is not an object.'],
] as const)('retention %j is refused', ([retention, message]) => {
  expect(() => retentionDays('options.retention', retention as never)).toThrow(message)
})

test('a misspelt option does not prune', async () => {
  const { foothold } = await setup()

  await expect(foothold.prune({ dryRun: true } as never)).rejects.toThrow('options.dryRun: there is no such option')
})
