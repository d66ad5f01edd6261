import type { Foothold, TaskDetail, TaskId } from 'foothold'
import type pg from 'pg'
import type { SupportRequest } from '../agent/request.ts'
import { NAIVE_TABLE } from '../worker/naive.ts'

/** Where accepted requests wait for workers, with the guard or without. */
export interface Queue {
  /** Resolves when the request is stored: from then on it counts as accepted. */
  submit(request: SupportRequest): Promise<string>
  completed(tasks: readonly string[]): Promise<number>
  /** Every attempt that has ended. */
  attempts(tasks: readonly string[]): Promise<Attempt[]>
}

export interface Attempt {
  readonly task: string
  readonly attempt: number
  readonly pid: number
  readonly startedAtMs: number
  readonly how: 'completed' | 'handed_over' | 'orphaned' | 'other'
}

export function guardedQueue(foothold: Foothold): Queue {
  const details = (tasks: readonly string[]): Promise<(TaskDetail | null)[]> =>
    Promise.all(tasks.map((id) => foothold.task(id as TaskId)))
  return {
    submit: async (request) =>
      (await foothold.submit('support', request, { dedupeKey: request.id, priority: 'live', tenant: request.clientId }))
        .id,
    completed: async (tasks) => (await details(tasks)).filter((task) => task?.status === 'completed').length,
    async attempts(tasks) {
      return (await details(tasks)).flatMap((task) =>
        (task?.attempts ?? []).map(({ attempt, workerId, startedAt, outcome }) => ({
          task: task?.id ?? '',
          attempt,
          pid: Number(workerId.split(':')[1]),
          startedAtMs: startedAt.getTime(),
          how: outcome === 'completed' || outcome === 'handed_over' || outcome === 'orphaned' ? outcome : 'other',
        })),
      )
    },
  }
}

/** Its table knows only the last worker of a row, so attempts are what its workers told of. */
export async function naiveQueue(pool: pg.Pool, begun: () => readonly Attempt[]): Promise<Queue> {
  await pool.query(NAIVE_TABLE)
  return {
    async submit(request) {
      const id = `naive-${request.id}`
      await pool.query('insert into naive.tasks (id, input) values ($1, $2)', [id, request])
      return id
    },
    async completed(tasks) {
      const { rows } = await pool.query<{ n: number }>(
        `select count(*)::int as n from naive.tasks where id = any($1) and status = 'completed'`,
        [tasks],
      )
      return rows[0]?.n ?? 0
    },
    attempts: async (tasks) => begun().filter(({ task }) => tasks.includes(task)),
  }
}
