import { expect, test } from 'vitest'
import type { TaskId } from '../../src/index.ts'
import { setup, until, type World } from '../integration/world.ts'
import { FLEET_BOOKS, type FleetCode, fleetAgent } from './fleet-agent.ts'
import type { FleetProcessSettings } from './fleet-process.ts'
import { startFleetWorker, type WorkerProcess } from './processes.ts'

/** Old and new code side by side, in processes of their own, rolled forward and back. */

const INPUT = { text: 'Здравствуйте' }
const UNTOUCHED = { errors: 0, crashes: 0, dead: 0 }

test('an input schema changed under 50 pending and 50 running tasks dead-letters none: each is refused once, and the older code goes on with all', async () => {
  const { query, foothold, deploy, stop, standing, budgets } = await fleet()
  const old = { release: 'r1' } as const
  const [first] = await deploy([old], { concurrency: 50 })
  const ids = await submitted(foothold, old, 100)
  await until('50 run, each with a step stored', async () => {
    const [row] = await query<{ n: number }>(`
      select count(*)::int as n from foothold.tasks t join foothold.agent_steps s on s.task_id = t.id and s.key = 'retrieve'
      where t.status = 'processing' and s.status = 'completed'`)
    return row?.n === 50
  })
  await stop(first)
  expect(await standing()).toEqual({ pending: 100 })

  const changed = await deploy([
    { release: 'r2', input: 'language' },
    { release: 'r2', input: 'language' },
  ])
  await until('all have been refused', async () => (await standing())['waiting'] === 100)

  const refusals = await query<{ release: string; attempts: number; tasks: number; outcome: string; reason: string }>(`
    select w.release, a.outcome, a.reason, count(*)::int as attempts, count(distinct a.task_id)::int as tasks
    from foothold.attempts a join foothold.workers w on w.id = a.worker_id group by 1, 2, 3 order by 1`)
  expect(refusals).toEqual([
    { release: 'r1', outcome: 'handed_over', reason: 'graceful_shutdown', attempts: 50, tasks: 50 },
    { release: 'r2', outcome: 'waiting', reason: 'code_changed', attempts: 100, tasks: 100 },
  ])
  expect(await budgets()).toEqual(UNTOUCHED)
  const said = await foothold.why(ids[0] as TaskId)
  expect(said?.why).toMatch(/its input is stored as {"text":"Здравствуйте"}.*fleet@1 takes \(language: .*Refused by r2/)
  await until('on-call is told in one group', async () => {
    const groups = await query('select agent, reason, tasks, standing from foothold.alert_group_view')
    return (
      groups.length === 1 && JSON.stringify(groups[0]).includes('"reason":"code_changed","tasks":100,"standing":100')
    )
  })

  // Rolled back, with the refusing workers still there: nobody has to resume a hundred tasks by hand.
  await query('insert into gate values (true)')
  await deploy([old])
  await until('all have been completed', async () => (await standing())['completed'] === 100, 60_000)

  expect(await budgets()).toEqual(UNTOUCHED)
  expect(await query('select * from fed_wrong')).toEqual([])
  expect(await query(`select task from runs where key = 'retrieve' group by task having count(*) > 1`)).toEqual([])
  expect(await attemptsOf(query, 'r2')).toBe(100)
  for (const worker of changed) worker.kill('SIGTERM')
}, 120_000)

async function attemptsOf(query: World['query'], release: string): Promise<number> {
  const [row] = await query<{ n: number }>(
    `select count(*)::int as n from foothold.attempts a join foothold.workers w on w.id = a.worker_id where w.release = $1`,
    [release],
  )
  return row?.n ?? 0
}

test('a mixed fleet under load, rolled forward, back and forward again: nothing lost, nothing burnt, nothing fed to the wrong step', async () => {
  const { query, foothold, deploy, stop, standing, budgets, failedStops } = await fleet()
  const one = { release: 'r1', pauseMs: 20 } as const
  const two = {
    release: 'r2',
    pauseMs: 200,
    version: 2,
    continues: [1],
    // Another order, one step more, one renamed, one of another version.
    steps: [{ key: 'plan' }, { key: 'verify' }, { key: 'retrieve' }, { key: 'answer2' }],
  } as const
  await query('insert into gate values (true)')
  const loads: Promise<TaskId[]>[] = []
  const load = (code: FleetCode): void => void loads.push(submitted(foothold, code, 40))

  load(one)
  const firstOnes = await deploy([one, one])
  load(one)
  const twos = await deploy([two, two])
  load(two)
  for (const worker of firstOnes) await stop(worker)
  load(one)
  const ones = await deploy([one, one])
  load(two)
  const olds = await submitted(foothold, one, 40)
  await until('version 2 is in the middle of what was submitted for version 1', async () => {
    const rows = await query(
      `select 1 from foothold.tasks t join foothold.agent_steps s on s.task_id = t.id join foothold.workers w on w.id = s.worker_id
       where t.id = any($1) and t.status = 'processing' and w.release = 'r2' limit 1`,
      [olds],
    )
    return rows.length > 0
  })
  await Promise.all(twos.map((worker) => stop(worker)))
  load(two)
  await Promise.all(loads)
  // Only version 1 lives: what version 2 has begun, and what was submitted for it, waits as it is.
  await until('version 1 has nothing more to do', async () => {
    const rows = await query(
      `select 1 from foothold.tasks where handler = 'fleet@1' and status in ('pending', 'processing', 'waiting') limit 1`,
    )
    return rows.length === 0
  })
  const waiting = await query<{ handler: string; status: string }>(
    `select distinct handler, status from foothold.tasks where status <> 'completed'`,
  )
  expect(waiting).toEqual([{ handler: 'fleet@2', status: 'pending' }])
  const before = await query('select id, attempt from foothold.tasks where status = $1 order by id', ['pending'])
  expect(await budgets()).toEqual(UNTOUCHED)

  // A minute later on-call hears of it, once, however many workers look.
  await query(
    `update foothold.workers set last_heartbeat_at = last_heartbeat_at - interval '2 minutes' where release = 'r2'`,
  )
  await query(`update foothold.tasks set run_at = run_at - interval '2 minutes' where status = 'pending'`)
  const group = await until('the alarm', async () => (await handlerGroups(query))[0])
  expect(group).toMatchObject({ agent: 'fleet@2', standing: before.length, resolved: false })
  const [stranded] = before as { id: string }[]
  const said = await foothold.why(stranded?.id as TaskId)
  expect(said?.why).toMatch(/no live worker has the handler fleet@2; had by r2 \(last seen 2 min ago\)/)
  expect(await query('select id, attempt from foothold.tasks where status = $1 order by id', ['pending'])).toEqual(
    before,
  )

  const again = await deploy([two, two])
  for (const worker of ones) await stop(worker)
  await until('all have been completed', async () => (await standing())['completed'] === 280, 60_000)
  await until('the alarm is over', async () => (await handlerGroups(query))[0]?.resolved)

  expect(await handlerGroups(query)).toHaveLength(1)
  expect(failedStops()).toBe(0)
  expect(await budgets()).toEqual(UNTOUCHED)
  expect(await query('select * from fed_wrong')).toEqual([])
  // What version 2 has stored a step in, version 1 never went on with.
  const mixed = await query(`
    select s.task_id from foothold.agent_steps s join foothold.workers w on w.id = s.worker_id
      join foothold.attempts a on a.task_id = s.task_id and a.attempt > s.attempt join foothold.workers o on o.id = a.worker_id
    where w.release = 'r2' and o.release = 'r1'`)
  expect(mixed).toEqual([])
  for (const worker of again) worker.kill('SIGTERM')
}, 120_000)

test('a fleet of the library before and this one, on the schema of this one, under load: rolled forward and back, nothing is lost or burnt', async () => {
  const { query, foothold, deploy, stop, standing, budgets, failedStops } = await fleet()
  await query('insert into gate values (true)')
  const steps = [
    { key: 'retrieve' },
    { key: 'plan', kind: 'transaction' },
    { key: 'wait', kind: 'sleep' },
    { key: 'answer' },
  ] as const
  const before = { release: 'r1', library: 'before', pauseMs: 20, steps } as const
  const present = { release: 'r2', pauseMs: 20, steps } as const
  const loads: Promise<TaskId[]>[] = []
  const load = (): void => void loads.push(submitted(foothold, present, 40))

  load()
  const first = await deploy([before, before])
  load()
  const second = await deploy([present, present])
  load()
  for (const worker of first) await stop(worker)
  load()
  const third = await deploy([before, before])
  for (const worker of second) await stop(worker)
  load()
  await Promise.all(loads)
  await until('all have been completed', async () => (await standing())['completed'] === 200, 60_000)

  expect(failedStops()).toBe(0)
  expect(await budgets()).toEqual(UNTOUCHED)
  expect(await query('select * from fed_wrong')).toEqual([])
  const completed = await query<{ release: string }>(`
    select distinct w.release from foothold.attempts a join foothold.workers w on w.id = a.worker_id where a.outcome = 'completed' order by 1`)
  expect(completed).toEqual([{ release: 'r1' }, { release: 'r2' }])
  for (const worker of third) worker.kill('SIGTERM')
}, 120_000)

async function handlerGroups(query: World['query']): Promise<{ agent: string; standing: number; resolved: boolean }[]> {
  return query(
    `select agent, standing, resolved_at is not null as resolved from foothold.alert_group_view where reason = 'handler_unknown'`,
  )
}

async function submitted(foothold: World['foothold'], code: FleetCode, count: number): Promise<TaskId[]> {
  // Of the producer's own process: submitting needs the agent's schema alone.
  const agent = fleetAgent('postgres://127.0.0.1:1/none', code)
  const handles = await Promise.all(Array.from({ length: count }, () => foothold.submit(agent, INPUT)))
  return handles.map(({ id }) => id)
}

interface Fleet extends World {
  /** Worker processes that have started, one for each state of the code. */
  readonly deploy: (
    codes: readonly Omit<FleetProcessSettings, 'url'>[],
    options?: { readonly concurrency: number },
  ) => Promise<WorkerProcess[]>
  readonly stop: (worker: WorkerProcess | undefined) => Promise<void>
  readonly standing: () => Promise<Record<string, number>>
  readonly budgets: () => Promise<{ errors: number; crashes: number; dead: number }>
  /** How many stopped otherwise than by themselves and with nothing left behind. */
  readonly failedStops: () => number
}

async function fleet(): Promise<Fleet> {
  const world = await setup()
  const { url, query } = world
  await query(FLEET_BOOKS)
  let failed = 0
  return {
    ...world,
    async deploy(codes, options) {
      const workers = codes.map((code) => startFleetWorker({ url, ...code, ...options }))
      await Promise.all(workers.map((worker) => worker.tells((told) => told['message'] === 'worker started', 60_000)))
      return workers
    },
    async stop(worker) {
      worker?.kill('SIGTERM')
      const ended = await worker?.exited
      if (ended?.code !== 0) failed += 1
    },
    async standing() {
      const rows = await query<{ status: string; n: number }>(
        'select status, count(*)::int as n from foothold.tasks group by status',
      )
      return Object.fromEntries(rows.map(({ status, n }) => [status, n]))
    },
    async budgets() {
      const [row] = await query<{ errors: number; crashes: number; dead: number }>(`
        select coalesce(sum(retry_count), 0)::int as errors, coalesce(sum(crashes_total), 0)::int as crashes,
          count(*) filter (where status = 'dead_letter')::int as dead from foothold.tasks`)
      return row as { errors: number; crashes: number; dead: number }
    },
    failedStops: () => failed,
  }
}
