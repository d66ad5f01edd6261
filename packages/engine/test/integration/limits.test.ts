import { describe, expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { connect, type Foothold, signal, type TaskId } from '../../src/index.ts'
import type { Database } from '../../src/store/database.ts'
import { setLimitedAside } from '../../src/store/limits.ts'
import { sweepTasks } from '../../src/store/sweep.ts'
import { movableClock } from '../../src/testing/index.ts'
import { databaseOn, lockIsAwaited } from './held-sessions.ts'
import { type Ground, ground } from './limits-world.ts'
import { agentOf, gate, setup, until } from './world.ts'

/** Limits hold over all workers together, whoever claims, dies or hands over. */

const CLAIMERS = 12
const KEYS = 20
const LIMIT = 5
const TASKS_PER_KEY = 10

test(`${CLAIMERS} claimers, ${KEYS} keys, limit ${LIMIT}: by the handlers' own count never more than ${LIMIT} of a key run at once, and all of them run`, async () => {
  const { url, foothold } = await setup()
  const running = new Map<string, number>()
  const most = new Map<string, number>()
  const agent = agentOf(async (task, input) => {
    const key = String(input)
    const now = (running.get(key) ?? 0) + 1
    running.set(key, now)
    most.set(key, Math.max(most.get(key) ?? 0, now))
    await task.step('work', () => new Promise((resolve) => setTimeout(() => resolve(null), 20)))
    running.set(key, (running.get(key) ?? 0) - 1)
    return key
  })
  for (let key = 0; key < KEYS; key += 1) await foothold.setLimit({ key: `ключ ${key}` }, { concurrency: LIMIT })
  const handles = await Promise.all(
    Array.from({ length: KEYS * TASKS_PER_KEY }, (_, n) =>
      foothold.submit(agent, `ключ ${n % KEYS}`, { limitKey: `ключ ${n % KEYS}` }),
    ),
  )

  const claimers = await Promise.all(
    Array.from({ length: CLAIMERS }, () => connect(url, { logger: 'silent', migrate: false, poolSize: 2 })),
  )
  onTestFinished(async () => void (await Promise.all(claimers.map((claimer: Foothold) => claimer.close()))))
  await Promise.all(claimers.map((claimer) => claimer.worker({ agents: [agent], concurrency: KEYS }).start()))
  await Promise.all(handles.map((handle) => handle.result({ timeoutMs: 60_000 })))

  expect([...most.values()].filter((n) => n > LIMIT)).toEqual([])
  // They met the limit, else it has shown nothing.
  expect([...most.values()].filter((n) => n === LIMIT)).toHaveLength(KEYS)
}, 90_000)

describe('two claims at once', () => {
  /** The first one has not committed yet. */
  async function behindAnOpenClaim(cut: (at: Ground) => Promise<void>): Promise<number> {
    const at = await ground()
    await cut(at)
    await at.foothold.setLimit({ key: 'модель' }, { concurrency: 5 })
    await at.submit(20, { limitKey: 'модель' })
    await Promise.all(['first', 'second'].map((id) => at.register(id)))
    const held = await at.session()
    await held.query('begin')
    expect((await at.claim('first', 3, databaseOn(held))).claimed).toHaveLength(3)

    await at.claim('second', 10)
    await held.query('commit')
    await at.claim('second', 10)
    return at.count(`status = 'processing'`)
  }

  test('never see the same room: while one decides about a key the other leaves it, and has the rest afterwards', async () => {
    expect(await behindAnOpenClaim(async () => undefined)).toBe(5)
  })

  test('control: without the lock of the lane they claim more than the limit', async () => {
    const lock = `pg_try_advisory_xact_lock(hashtext('foothold_limits'), hashtext(o.lane) & 1023)`
    expect(await behindAnOpenClaim((at) => at.cutFunction('foothold.take_lanes', lock, 'true'))).toBeGreaterThan(5)
  })

  /** The second one's snapshot is older than the first one's commit. */
  async function behindTheSnapshot(cut: (at: Ground) => Promise<void>): Promise<number> {
    const at = await ground()
    await cut(at)
    await at.foothold.setLimit({ key: 'модель' }, { concurrency: 5 })
    await at.submit(20, { limitKey: 'модель' })
    await Promise.all(['first', 'late'].map((id) => at.register(id)))
    const held = await at.session()
    await held.query('begin')
    await held.query(`select 1 from foothold.workers where id = 'late' for update`)
    const late = at.claim('late', 10)
    await lockIsAwaited(at)

    expect((await at.claim('first', 5)).claimed).toHaveLength(5)
    await held.query('commit')
    await late
    return at.count(`status = 'processing'`)
  }

  test('count anew behind the lock: what was claimed since the statement began takes its room', async () => {
    expect(await behindTheSnapshot(async () => undefined)).toBe(5)
  })

  test('control: counted by the snapshot of the claim they are too many', async () => {
    expect(
      await behindTheSnapshot((at) => at.query('alter function foothold.take_lanes stable').then(() => undefined)),
    ).toBeGreaterThan(5)
  })
})

describe('the room of a limit', () => {
  test('comes back with the tasks of a worker that died: nothing keeps a count that could leak', async () => {
    const at = await ground()
    await at.foothold.setLimit({ key: 'модель' }, { concurrency: 5 })
    await at.submit(12, { limitKey: 'модель' })
    await Promise.all(['first', 'second'].map((id) => at.register(id)))
    expect((await at.claim('first', 12)).claimed).toHaveLength(5)
    expect((await at.claim('second', 12)).claimed).toEqual([])

    await at.query(
      `update foothold.workers set status = 'lost', lost_while = 'active', lost_running = 5 where id = 'first'`,
    )
    await sweepTasks(at.db)

    expect((await at.claim('second', 12)).claimed).toHaveLength(5)
    expect(await at.foothold.limits()).toMatchObject([{ value: 'модель', concurrency: 5, running: 5, waiting: 7 }])
  })

  test('is given to whoever waits while a task sleeps, and a task that wakes waits for room like any other', async () => {
    const { foothold, worker } = await setup()
    await foothold.setLimit({ key: 'модель' }, { concurrency: 1 })
    const order: string[] = []
    const agent = agentOf(async (task, input) => {
      order.push(`${String(input)} begins`)
      if (input === 'спит') await task.sleep('нап', 300)
      order.push(`${String(input)} ends`)
      return null
    })
    const sleeping = await foothold.submit(agent, 'спит', { limitKey: 'модель' })
    const other = await foothold.submit(agent, 'другой', { limitKey: 'модель' })

    await worker([agent])
    await Promise.all([sleeping, other].map((handle) => handle.result({ timeoutMs: 20_000 })))

    expect(order).toEqual(['спит begins', 'другой begins', 'другой ends', 'спит begins', 'спит ends'])
  })

  test('is counted for agent, tenant and key, the narrowest holds, and each one that has no limit of its own takes that of all', async () => {
    const at = await ground()
    await at.register('worker')
    await at.foothold.setLimit({ agent: 'test' }, { concurrency: 8 })
    await at.foothold.setLimit({ tenant: '*' }, { concurrency: 4 })
    await at.foothold.setLimit({ tenant: 'важный' }, { concurrency: 6 })
    await at.foothold.setLimit({ key: 'модель' }, { concurrency: 3 })
    await at.submit(10, { tenant: 'малый' })
    await at.submit(10, { tenant: 'важный', limitKey: 'модель' })
    await at.submit(10, { tenant: 'важный' })

    for (let round = 0; round < 8; round += 1) await at.claim('worker', 20)

    expect(await at.count(`status = 'processing'`)).toBe(8)
    expect(await at.count(`status = 'processing' and tenant = 'малый'`)).toBeLessThanOrEqual(4)
    expect(await at.count(`status = 'processing' and limit_key = 'модель'`)).toBeLessThanOrEqual(3)
    await at.foothold.removeLimit({ agent: 'test' })
    for (let round = 0; round < 8; round += 1) await at.claim('worker', 20)
    expect(await at.count(`status = 'processing' and tenant = 'малый'`)).toBe(4)
    expect(await at.count(`status = 'processing' and tenant = 'важный'`)).toBe(6)
    expect(await at.count(`status = 'processing' and limit_key = 'модель'`)).toBe(3)
  })

  test('holds from the next claim on when it is lowered, and opens when it is removed', async () => {
    const { foothold, worker, query } = await setup()
    const open = gate()
    const agent = agentOf(async () => {
      await open.opened
      return null
    })
    await foothold.setLimit({ agent: 'test' }, { concurrency: 2 })
    const handles = await Promise.all(Array.from({ length: 6 }, () => foothold.submit(agent, null)))
    await worker([agent])
    const processing = async (): Promise<number> =>
      (await query(`select 1 from foothold.tasks where status = 'processing'`)).length
    await until('two run, four wait', async () => (await foothold.limits())[0]?.waiting === 4)
    expect(await processing()).toBe(2)
    const waiting = (await foothold.tasks({ status: 'waiting' })).items[0]
    expect(waiting).toMatchObject({ waitingFor: 'limit' })

    await foothold.removeLimit({ agent: 'test' })
    await until('all run', async () => (await processing()) === 6)

    open.open()
    await Promise.all(handles.map((handle) => handle.result({ timeoutMs: 10_000 })))
  })
})

test('a rate holds in every window of its period, over all claimers', async () => {
  const at = await ground()
  const clock = movableClock(at.ownerUrl)
  await Promise.all(['first', 'second'].map((id) => at.register(id)))
  await at.foothold.setLimit({ key: 'смс' }, { rate: { count: 3, periodMs: 60_000 } })
  await at.submit(9, { limitKey: 'смс' })
  const both = async (): Promise<number> =>
    (await at.claim('first', 2)).claimed.length + (await at.claim('second', 5)).claimed.length

  expect(await both()).toBe(3)
  await clock.advance(55_000)
  expect(await both()).toBe(0)
  await clock.advance(10_000)
  expect(await both()).toBe(3)
  expect(await both()).toBe(0)
})

test('a suspect waits for room too', async () => {
  const at = await ground()
  await at.register('worker')
  await at.foothold.setLimit({ key: 'модель' }, { concurrency: 1 })
  const [first = ''] = await at.submit(2, { limitKey: 'модель' })
  await at.query(`update foothold.tasks set suspect = true where id = $1`, [first])
  expect((await at.claim('worker', 5)).claimed).toHaveLength(1)

  const { claimed } = await at.claim('worker', 1, at.db, { kind: 'suspects' })

  expect(claimed).toEqual([])
  expect(
    await at.query('select status, waiting_for, wake_at is not null as timed from foothold.tasks where suspect'),
  ).toEqual([{ status: 'waiting', waiting_for: 'limit', timed: true }])
})

test('what changed code has refused is claimed under the limits too, and stays where it is when there is no room', async () => {
  const at = await ground()
  await at.register('worker')
  await at.foothold.setLimit({ key: 'модель' }, { concurrency: 1 })
  await at.submit(2, { limitKey: 'модель' })
  await at.query(`update foothold.tasks set status = 'waiting', waiting_for = 'code', refused_by = '{r0}'`)

  const first = await at.claim('worker', 5, at.db, { kind: 'refused' })
  const second = await at.claim('worker', 5, at.db, { kind: 'refused' })

  expect([first.claimed.length, second.claimed.length]).toEqual([1, 0])
  expect(await at.count(`status = 'waiting' and waiting_for = 'code'`)).toBe(1)
})

test('a signal to a task that waits for room reaches it, and it goes back to its lane', async () => {
  const at = await ground()
  await at.register('worker')
  await at.foothold.setLimit({ key: 'модель' }, { concurrency: 1 })
  await at.submit(2, { limitKey: 'модель' })
  await at.claim('worker', 5)
  const [aside] = await at.query<{ id: TaskId }>(`select id from foothold.tasks where waiting_for = 'limit'`)
  await at.foothold.sendSignal(aside?.id as TaskId, signal('paid', z.unknown()), null)
  expect(await at.count(`status = 'pending'`)).toBe(1)

  const { claimed, setAside } = await at.claim('worker', 5)

  expect({ claimed, setAside }).toEqual({ claimed: [], setAside: 1 })
  expect(await at.count(`status = 'waiting' and waiting_for = 'limit'`)).toBe(1)
})

const BACKLOG = 30_000

test('a backlog of a full key is set aside, so that no claim walks past it, and comes back in its order', async () => {
  const at = await ground()
  await at.register('worker')
  await at.foothold.setLimit({ key: 'модель' }, { concurrency: 1 })
  await at.query(
    `insert into foothold.tasks (id, agent, handler, status, run_at, limit_key, deadline_ms, created_at)
     select foothold.new_id(), 'test', 'test@1', 'pending', clock_timestamp() - interval '1 hour' + n * interval '1 ms', 'модель', 900000, clock_timestamp()
     from generate_series(1, ${BACKLOG}) n`,
  )
  await at.query('analyze foothold.tasks')
  expect((await at.claim('worker', 1)).claimed).toHaveLength(1)
  const [other = ''] = await at.submit(1)
  let moved = -1
  for (let aside = -1; aside !== 0; moved += aside) aside = await setLimitedAside(at.db, 'worker')
  await at.query('vacuum analyze foothold.tasks')

  const startedAt = performance.now()
  const { claimed } = await at.claim('worker', 1)
  const claimMs = performance.now() - startedAt
  const plan = await planOf(at)

  console.log(`a claim beside ${moved} tasks that wait for room: ${claimMs.toFixed(1)} ms`)
  expect(claimed).toMatchObject([{ id: other }])
  expect(plan).not.toMatch(/Seq Scan on tasks/)
  await at.query(
    `update foothold.tasks set status = 'completed', worker_id = null, finished_at = clock_timestamp() where status = 'processing'`,
  )
  await at.claim('worker', 1)
  const [next] = await at.query<{ before: number }>(
    `select count(*)::int as before from foothold.tasks t where status = 'waiting'
       and run_at < (select run_at from foothold.tasks where status = 'processing')`,
  )
  expect(next).toEqual({ before: 0 })
}, 60_000)

/** Of the claim in turn as it was really sent. */
async function planOf(at: Ground): Promise<string> {
  let sent: [string, readonly unknown[]] = ['', []]
  const recording: Database = {
    ...at.db,
    run: (text, values, given) => {
      sent = [text, values]
      return at.db.run(text, values, given)
    },
  }
  await at.claim('worker', 1, recording)
  const rows = await at.query<{ 'QUERY PLAN': string }>(
    `explain (analyze, costs off, timing off, summary off) ${sent[0]}`,
    [...sent[1]],
  )
  return rows.map((row) => row['QUERY PLAN']).join('\n')
}
