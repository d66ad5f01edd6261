import { randomUUID } from 'node:crypto'
import { expect, onTestFinished, test } from 'vitest'
import { claimTasks } from '../../src/store/claim.ts'
import { type Database, openDatabase } from '../../src/store/database.ts'
import { handOverTask } from '../../src/store/settle.ts'
import { markDraining, markStopped, registerWorker } from '../../src/store/workers.ts'
import { movableClock } from '../../src/testing/index.ts'
import { without } from './held-sessions.ts'
import { agentOf, setup, type World } from './world.ts'

/** What a stopping worker hands over is left to newer releases for a moment, by the statements themselves. */

const HANDLERS = ['test@1']
const YIELD_MS = 5_000
const YIELD_TO_SIGNAL_MS = 250
const options = { doing: 'testing', patienceMs: 0 }

interface Ground extends World {
  readonly db: Database
  readonly clock: ReturnType<typeof movableClock>
  submit(): Promise<string>
  register(id: string, release: string, worker?: { concurrency?: number; handlers?: string[] }): Promise<void>
  claim(workerId: string, on?: Database): Promise<string[]>
  /** By the worker that has just claimed it. */
  handOver(taskId: string, workerId: string, reason?: string): Promise<void>
}

async function ground(): Promise<Ground> {
  const world = await setup()
  const db = openDatabase({ url: world.url, poolSize: 3 })
  onTestFinished(() => db.close())
  return {
    ...world,
    db,
    clock: movableClock(world.ownerUrl),
    submit: async () =>
      (
        await world.foothold.submit(
          agentOf(() => Promise.resolve(null)),
          null,
        )
      ).id,
    register: (id, release, { concurrency = 2, handlers = HANDLERS } = {}) =>
      registerWorker(
        db,
        { id, release, handlers, concurrency, heartbeatMs: 60_000, leaseMs: 600_000, hasLifeline: false },
        new AbortController().signal,
      ),
    async claim(workerId, on = db) {
      const request = {
        workerId,
        claimId: randomUUID(),
        handlers: HANDLERS,
        limit: 1,
        oldestFirst: false,
        kind: 'pending' as const,
      }
      return (await claimTasks(on, request)).claimed.map(({ id }) => id)
    },
    async handOver(taskId, workerId, reason = 'graceful_shutdown') {
      const [task] = await world.query<{ attempt: number }>('select attempt from foothold.tasks where id = $1', [
        taskId,
      ])
      const fence = { taskId, attempt: task?.attempt ?? 0, workerId }
      expect(await handOverTask(db, fence, { reason, detail: null }, options)).toEqual({ handler: 'test@1' })
    },
  }
}

/** A rolling deploy in its middle: a worker of the old release leaves, another one is still there, a new one has come. */
async function rolling(): Promise<{ at: Ground; taskId: string }> {
  const at = await ground()
  await at.register('leaving', 'r1')
  await at.register('old', 'r1')
  await at.register('new', 'r2')
  const taskId = await at.submit()
  expect(await at.claim('leaving')).toEqual([taskId])
  await at.handOver(taskId, 'leaving')
  await markStopped(at.db, 'leaving', 1_000)
  return { at, taskId }
}

test('what a worker hands over during a rolling deploy goes to the new release, not to the next old worker', async () => {
  const { at, taskId } = await rolling()

  expect(await at.claim('old')).toEqual([])
  expect(await at.claim('new')).toEqual([taskId])
})

test('control: without the preference the old worker takes it, to be cut once more', async () => {
  const { at, taskId } = await rolling()

  expect(await at.claim('old', without(at.db, 'left_release <> (select release from me)', 'true'))).toEqual([taskId])
})

test('the preference passes over nothing else: an old worker goes on with what waits behind', async () => {
  const { at } = await rolling()
  const behind = await at.submit()

  expect(await at.claim('old')).toEqual([behind])
})

test('the preference ends by itself, and with a claim', async () => {
  const { at, taskId } = await rolling()
  await at.clock.advance(YIELD_MS / 2)
  expect(await at.claim('old')).toEqual([])

  await at.clock.advance(YIELD_MS / 2)
  expect(await at.claim('old')).toEqual([taskId])

  expect(await at.query('select left_release, yield_until from foothold.tasks')).toEqual([
    { left_release: null, yield_until: null },
  ])
})

/** How long a worker of the same release leaves the task to others. */
async function yieldedMs(at: Ground): Promise<number> {
  const [task] = await at.query<{ ms: number }>(
    `select extract(epoch from yield_until - ended_at)::float8 * 1000 as ms
     from foothold.tasks t join foothold.attempts a on a.task_id = t.id and a.attempt = t.attempt`,
  )
  return Math.round((task?.ms ?? 0) / 50) * 50
}

test('without a newer release, workers of the same one take it after a quarter of a second, in which they may be told to stop themselves', async () => {
  const at = await ground()
  await at.register('older release', 'r0')
  await at.register('leaving', 'r1')
  await at.register('neighbour', 'r1')
  const taskId = await at.submit()
  await at.claim('leaving')
  await at.handOver(taskId, 'leaving')

  expect(await yieldedMs(at)).toBe(YIELD_TO_SIGNAL_MS)
  await at.clock.advance(-60_000)
  expect(await at.claim('neighbour')).toEqual([])
  await at.clock.advance(60_000 + YIELD_TO_SIGNAL_MS)
  expect(await at.claim('neighbour')).toEqual([taskId])
})

test('what a worker gives up a while after it was told to stop, when its neighbours have been told too, is theirs at once', async () => {
  const at = await ground()
  await at.register('leaving', 'r1')
  await at.register('neighbour', 'r1')
  const taskId = await at.submit()
  await at.claim('leaving')
  await markDraining(at.db, 'leaving', 1_000)
  await at.clock.advance(YIELD_TO_SIGNAL_MS)

  await at.handOver(taskId, 'leaving')

  expect(await at.claim('neighbour')).toEqual([taskId])
})

interface Newer {
  readonly handlers?: string[]
  readonly concurrency?: number
}

test.for<[string, Newer, number, number]>([
  ['cannot run it', { handlers: ['other@1'] }, 0, YIELD_TO_SIGNAL_MS],
  ['is full and came long ago', { concurrency: 1 }, 90_000, YIELD_TO_SIGNAL_MS],
  ['is full and has just come: the next one is on its way', { concurrency: 1 }, 0, YIELD_MS],
  ['came long ago and has room', { concurrency: 2 }, 90_000, YIELD_MS],
])('a newer release that %s', async ([, newer, agoMs, expected]) => {
  const at = await ground()
  await at.register('leaving', 'r1')
  const taskId = await at.submit()
  await at.claim('leaving')
  await at.register('new', 'r2', { ...newer })
  await at.submit()
  await at.claim('new')
  await at.clock.advance(agoMs)

  await at.handOver(taskId, 'leaving')

  expect(await yieldedMs(at)).toBe(expected)
})

test('only what a stopping worker hands over is left to others', async () => {
  const at = await ground()
  await at.register('first', 'r1')
  await at.register('second', 'r1')
  const taskId = await at.submit()
  await at.claim('first')
  await at.handOver(taskId, 'first', 'lease_lost')

  expect(await at.claim('second')).toEqual([taskId])
})

test('a claim behind a backlog rides its index past what is left to others', async () => {
  const { at } = await rolling()
  await at.query(
    `insert into foothold.tasks (id, agent, handler, status, run_at, created_at)
     select gen_random_uuid(), 'test', 'test@1', 'pending', clock_timestamp(), clock_timestamp() from generate_series(1, 20000)`,
  )
  await at.query('analyze foothold.tasks')
  const recorded: string[] = []
  const recording: Database = {
    ...at.db,
    run: (text, values, given) => {
      recorded.push(text)
      return at.db.run(text, values, given)
    },
  }
  await at.claim('old', recording)

  const plan = await at.query<{ 'QUERY PLAN': string }>(
    `explain (analyze, costs off, timing off, summary off) ${recorded[0]}`,
    ['old', randomUUID(), HANDLERS, 20],
  )
  const text = plan.map((row) => row['QUERY PLAN']).join('\n')
  expect(text).toMatch(/Index Scan using tasks_pending/)
  expect(text).not.toMatch(/Sort|Seq Scan on tasks/)
  // The one row that is left to others, however long the backlog.
  expect(text.match(/Rows Removed by Filter: (\d+)/)?.[1]).toBe('1')
})
