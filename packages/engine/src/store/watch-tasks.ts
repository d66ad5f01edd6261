import type { TaskStatus } from '../protocol/views.ts'
import type { Database, RunOptions } from './database.ts'

/** More come with the next look, at once. */
const CHUNKS_MAX = 500

/** On this channel a worker says that a try of a step has begun. */
export const STARTED_CHANNEL = '$started'

export interface TaskLook {
  readonly id: string
  readonly status: TaskStatus
  readonly reason: string | null
  readonly attempt: number
  readonly workerId: string | null
  readonly steps: readonly StepLook[]
  /** In the order of their ids. */
  readonly chunks: readonly ChunkLook[]
  /** There are more chunks than one look takes. */
  readonly isMore: boolean
}

export interface StepLook {
  readonly key: string
  readonly status: 'intent' | 'waiting' | 'failed' | 'completed' | 'unknown'
  readonly tries: number
  readonly attempt: number
  /** JSON text. */
  readonly error: string | null
}

export interface ChunkLook {
  /** A bigint as digits. */
  readonly id: string
  readonly key: string
  readonly attempt: number
  readonly tries: number
  readonly channel: string
  /** JSON text of a string. */
  readonly chunk: string
}

/**
 * Several tasks in one statement, each with the chunks after a cursor. Status, steps and chunks come from one snapshot,
 * so that a step is never shown as ended before chunks that were stored earlier.
 */
export async function lookAtTasks(
  db: Database,
  asked: ReadonlyMap<string, bigint>,
  options: RunOptions,
): Promise<ReadonlyMap<string, TaskLook>> {
  const rows = await db.run<Omit<TaskLook, 'isMore'>>(
    `select t.id, t.status, coalesce(case when t.status = 'cancelled' then t.cancel_reason end, t.last_reason) as reason, t.attempt, t.worker_id as "workerId",
       coalesce((select json_agg(json_build_object('key', s.key, 'status', s.status, 'tries', s.tries, 'attempt', s.attempt, 'error', s.error::text)
                                 order by s.started_at, s.key)
                 from foothold.agent_steps s where s.task_id = t.id), '[]') as steps,
       coalesce((select json_agg(json_build_object('id', c.id::text, 'key', c.key, 'attempt', c.attempt, 'tries', c.tries,
                                                   'channel', c.channel, 'chunk', c.chunk::text) order by c.id)
                 from (select * from foothold.stream_chunks n where n.task_id = t.id and n.id > w.after
                       order by n.id limit ${CHUNKS_MAX}) c), '[]') as chunks
     from unnest($1::uuid[], $2::bigint[]) w(id, after) join foothold.tasks t on t.id = w.id`,
    [[...asked.keys()], [...asked.values()].map(String)],
    options,
  )
  return new Map(rows.map((row) => [row.id, { ...row, isMore: row.chunks.length === CHUNKS_MAX }]))
}

export interface ShownTry {
  readonly key: string
  readonly attempt: number
  readonly tries: number
  readonly hasChunks: boolean
}

/** The newest try of each step that a watcher who stands at this cursor has seen. */
export async function readShownTries(
  db: Database,
  taskId: string,
  cursor: bigint,
  options: RunOptions,
): Promise<readonly ShownTry[]> {
  return db.run<ShownTry>(
    `select distinct on (key) key, attempt, tries, bool_or(channel <> '${STARTED_CHANNEL}') as "hasChunks"
     from foothold.stream_chunks where task_id = $1 and id <= $2::bigint
     group by key, attempt, tries order by key, attempt desc, tries desc`,
    [taskId, String(cursor)],
    options,
  )
}
