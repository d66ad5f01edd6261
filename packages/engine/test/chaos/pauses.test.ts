import { expect, test } from 'vitest'
import { setup, until, type World } from '../integration/world.ts'
import { LEDGER, ledgerAgent } from './ledger-agent.ts'
import { startWorkerProcess, type WorkerProcess } from './processes.ts'

const TASKS = 16
/** What a pause may still be late by in any worker. */
const EFFECTIVE_MS = 1_000

test('a paused agent is claimed by none of four worker processes, its running tasks hand over after their step, and nothing restarts it but unpausing', async () => {
  const world = await setup()
  const { url, foothold, query } = world
  await query(LEDGER)
  const agent = ledgerAgent(url, { receiver: 'keys' })
  const workers = await startFour(url)
  const ids = await Promise.all(Array.from({ length: TASKS }, async () => (await foothold.submit(agent, null)).id))
  await Promise.all(workers.map((worker) => worker.tells((told) => told['step'] === 'plan')))

  await foothold.pause({ agent: 'ledger' }, { reason: 'CRM недоступна', by: 'анна' })
  const [paused] = await query<{ at: Date }>('select clock_timestamp() as at')
  const pausedAt = paused?.at as Date
  await until('everything that ran has been handed over', async () => (await standing(world)).processing === 0)

  // It survives the death of every worker: these have never heard of it.
  await Promise.all(workers.map((worker) => (worker.kill('SIGKILL'), worker.exited)))
  const successors = await startFour(url)
  const later = await foothold.submit(agent, null)
  await until('the new workers have looked for a while', async () => {
    const [row] = await query<{ ms: number }>(
      `select extract(epoch from clock_timestamp() - max(started_at))::float8 * 1000 as ms from foothold.workers`,
    )
    return (row?.ms ?? 0) > 2 * EFFECTIVE_MS
  })
  const claims = await query(
    `select task_id, attempt, started_at from foothold.attempts where started_at > $1
     union all select id, attempt, claimed_at from foothold.tasks where claimed_at > $1`,
    [pausedAt],
  )
  const handedOver = await query<{ reason: string; outcome: string; late: boolean }>(
    `select distinct outcome, reason, ended_at > $1::timestamptz + interval '5 s' as late from foothold.attempts where outcome <> 'completed'`,
    [pausedAt],
  )

  expect(claims).toEqual([])
  expect(handedOver).toEqual([{ outcome: 'handed_over', reason: 'paused', late: false }])
  expect(await query('select status, attempt from foothold.tasks where id = $1', [later.id])).toEqual([
    { status: 'pending', attempt: 0 },
  ])

  await foothold.unpause({ agent: 'ledger' })

  await until('all have been completed', async () => (await standing(world)).completed === TASKS + 1, 30_000)
  // Soft: no step of any of them was cut off and run again.
  const twice = await query('select task, what from ledger group by task, what having count(*) > 1')
  const counts = await query(
    `select sum(retry_count)::int as errors, sum(crash_count)::int as crashes from foothold.tasks where id = any($1::uuid[])`,
    [ids],
  )
  expect(twice).toEqual([])
  expect(counts).toEqual([{ errors: 0, crashes: 0 }])
  for (const worker of successors) worker.kill('SIGTERM')
})

async function startFour(url: string): Promise<readonly WorkerProcess[]> {
  const workers = Array.from({ length: 4 }, () =>
    startWorkerProcess({ url, receiver: 'keys', pauseMs: 300, concurrency: 2 }),
  )
  await Promise.all(workers.map((worker) => worker.tells((told) => told['message'] === 'worker started', 60_000)))
  return workers
}

async function standing({ query }: World): Promise<Record<string, number>> {
  const rows = await query<{ status: string; n: number }>(
    'select status, count(*)::int as n from foothold.tasks group by status',
  )
  return { processing: 0, completed: 0, ...Object.fromEntries(rows.map(({ status, n }) => [status, n])) }
}
