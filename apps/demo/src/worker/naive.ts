import { setTimeout as pause } from 'node:timers/promises'
import type { LlmModel } from '@foothold/models'
import pg from 'pg'
import type { SupportRequest } from '../agent/request.ts'
import type { Services } from '../agent/services.ts'
import { answerRequest } from '../agent/work.ts'
import type { Tell, WorkerSettings } from './messages.ts'
import { naiveTask } from './naive-task.ts'
import { observed } from './observed.ts'
import type { RunningWorker } from './running-worker.ts'

/**
 * Without the guard: the loop that teams write themselves. A table with status, worker and heartbeat; rows whose
 * heartbeat has gone stale are taken again from the top, three times at most. Claims never collide, and nothing else
 * is wrong with it: what it lacks is a memory of what was done already.
 */
export const NAIVE_TABLE = `
  create schema if not exists naive;
  create table if not exists naive.tasks (
    id text primary key, input json not null, status text not null default 'pending', worker_id text,
    last_heartbeat_at timestamptz, retry_count int not null default 0, created_at timestamptz not null default now())`

const RETRIES_MAX = 3
const IDLE_MS = 150

interface Row {
  readonly id: string
  readonly input: SupportRequest
  readonly attempt: number
}

export async function startNaive(
  { databaseUrl, concurrency, heartbeatMs, leaseMs }: WorkerSettings,
  outside: { readonly model: LlmModel; readonly services: Services },
  tell: Tell,
): Promise<RunningWorker> {
  const pool = new pg.Pool({ connectionString: databaseUrl, max: 4 })
  pool.on('error', () => undefined)
  const me = `${process.pid}`
  let running = 0

  const claim = async (): Promise<Row | undefined> => {
    const { rows } = await pool.query<Row>(
      `update naive.tasks t set status = 'processing', worker_id = $1, last_heartbeat_at = now(),
              retry_count = retry_count + case when status = 'processing' then 1 else 0 end
       where id = (
         select id from naive.tasks
         where status = 'pending'
            or (status = 'processing' and last_heartbeat_at < now() - make_interval(secs => $2) and retry_count < $3)
         order by created_at for update skip locked limit 1)
       returning id, input, retry_count + 1 as attempt`,
      [me, leaseMs / 1_000, RETRIES_MAX],
    )
    return rows[0]
  }

  const run = async ({ id, input, attempt }: Row): Promise<void> => {
    tell({ type: 'begun', task: id, request: input.id, attempt })
    try {
      await answerRequest(observed(naiveTask(id, attempt), 'in_memory', tell), input, outside)
      await pool.query(`update naive.tasks set status = 'completed' where id = $1`, [id])
      tell({ type: 'ended', task: id, attempt, how: 'completed' })
    } catch {
      await pool.query(`update naive.tasks set status = 'failed' where id = $1 and status <> 'completed'`, [id])
      tell({ type: 'ended', task: id, attempt, how: 'left' })
    }
  }

  const loop = async (): Promise<never> => {
    for (;;) {
      const row = running < concurrency ? await claim() : undefined
      if (row === undefined) {
        await pause(IDLE_MS)
        continue
      }
      running += 1
      void run(row).finally(() => {
        running -= 1
      })
    }
  }
  setInterval(() => {
    void pool.query(`update naive.tasks set last_heartbeat_at = now() where worker_id = $1 and status = 'processing'`, [
      me,
    ])
  }, heartbeatMs)
  loop().catch(() => process.exit(1))
  // A process without a handler of its own ends at SIGTERM, with whatever it was doing.
  return { stop: async () => ({ handedOver: 0 }) }
}
