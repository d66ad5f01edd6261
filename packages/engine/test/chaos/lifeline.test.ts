import { expect, test } from 'vitest'
import type { TaskHandle } from '../../src/index.ts'
import { setup, until, type World } from '../integration/world.ts'
import { LEDGER, ledgerAgent } from './ledger-agent.ts'
import { startWorkerProcess, type WorkerProcess } from './processes.ts'

/** The defaults: by the lease alone a death is noticed after 15 s at the earliest. */
const AT_DEFAULTS = { heartbeatMs: 5_000, leaseMs: 20_000, concurrency: 1 }
const LONG_MS = 60_000

interface Fleet extends World {
  readonly workers: readonly WorkerProcess[]
}

/** Worker processes whose lookouts have seen enough to trust one look. */
async function fleet(
  count: number,
  settings: { readonly lifeline?: boolean; readonly pauseMs?: number },
): Promise<Fleet> {
  const world = await setup()
  await world.query(LEDGER)
  const workers = Array.from({ length: count }, () =>
    startWorkerProcess({ url: world.url, receiver: 'keys', pauseMs: LONG_MS, ...AT_DEFAULTS, ...settings }),
  )
  await until(
    'all heartbeat sessions are ten seconds old',
    async () => {
      const rows = await world.query(
        `select 1 from pg_stat_activity where application_name = 'foothold heartbeat' and datname = current_database()
           and backend_start < clock_timestamp() - interval '12 s'`,
      )
      return rows.length === count
    },
    60_000,
  )
  return { ...world, workers }
}

async function submitted({ foothold, url }: Fleet): Promise<TaskHandle<unknown>> {
  return foothold.submit(ledgerAgent(url, { receiver: 'keys' }), null)
}

/** The process that has the task, once it is inside its first step. */
async function holder({ query, workers }: Fleet, handle: TaskHandle<unknown>): Promise<WorkerProcess> {
  const pid = await until('somebody is in the first step', async () => {
    const [row] = await query<{ worker: string }>('select worker from ledger where task = $1', [handle.id])
    return row === undefined ? null : Number(row.worker)
  })
  const process = workers.find((worker) => worker.pid === pid)
  if (process === undefined) throw new Error(`No worker has the pid ${pid}.`)
  return process
}

async function attemptOf({ query }: World, handle: TaskHandle<unknown>): Promise<number> {
  const [row] = await query<{ attempt: number }>(
    `select attempt from foothold.tasks where id = $1 and status = 'processing'`,
    [handle.id],
  )
  return row?.attempt ?? 0
}

test('a killed worker is noticed by its lifeline, long before its lease is over', { timeout: 120_000 }, async () => {
  const world = await fleet(2, {})
  const handle = await submitted(world)
  const victim = await holder(world, handle)

  victim.kill('SIGKILL')

  await until('the neighbour has the task', async () => (await attemptOf(world, handle)) === 2, 5_000)
  expect(
    await world.query(`select status, lost_while from foothold.workers where id like $1`, [`%:${victim.pid}:%`]),
  ).toEqual([{ status: 'lost', lost_while: 'active' }])
})

test.for([
  ['of their own', false],
  ['that are switched on', true],
] as const)(
  'without lifelines %s it is not: the lease alone needs more than five seconds',
  {
    timeout: 120_000,
  },
  async ([, lifeline]) => {
    const world = await fleet(2, { lifeline })
    if (lifeline) await world.foothold.switchLifeline('off', { reason: 'сеть рвёт соединения' })
    const handle = await submitted(world)
    const victim = await holder(world, handle)

    victim.kill('SIGKILL')

    const seen = until('the neighbour has the task', async () => (await attemptOf(world, handle)) === 2, 5_000)
    await expect(seen).rejects.toThrow('in vain')
  },
)

test('a frozen worker loses its task in seconds, and writes nothing when it wakes', { timeout: 120_000 }, async () => {
  const world = await fleet(2, { pauseMs: 1_000 })
  const handle = await submitted(world)
  const frozen = await holder(world, handle)

  frozen.kill('SIGSTOP')
  await until('the neighbour has the task', async () => (await attemptOf(world, handle)) === 2, 12_000)
  await handle.result({ timeoutMs: 30_000 })
  frozen.kill('SIGCONT')
  await frozen.tells((told) => told['message'] === 'worker was declared lost; it begins anew')

  const [counts] = await world.query(
    `select count(*) filter (where what = 'deal')::int as deals, count(*) filter (where what = 'request')::int as requests from ledger`,
  )
  expect(counts).toEqual({ deals: 1, requests: 1 })
  const writers = await world.query<{ worker_id: string }>('select distinct worker_id from foothold.agent_steps')
  expect(writers.every(({ worker_id: id }) => !id.includes(`:${frozen.pid}:`))).toBe(true)
})

test('all lifelines cut at once: nobody who is alive is declared lost, and a dead one among them is found', {
  timeout: 120_000,
}, async () => {
  const world = await fleet(3, {})
  const handle = await submitted(world)
  const victim = await holder(world, handle)

  victim.kill('SIGKILL')
  await world.query(
    `select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'foothold heartbeat' and datname = current_database()`,
  )

  await until('the dead one is found', async () => (await attemptOf(world, handle)) === 2, 40_000)
  const lost = await world.query<{ id: string }>(`select id from foothold.workers where status = 'lost'`)
  expect(lost.map(({ id }) => id.split(':')[1])).toEqual([String(victim.pid)])
})
