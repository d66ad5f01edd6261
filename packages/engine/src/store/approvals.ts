import type { TaskStatus } from '../protocol/views.ts'
import type { Database, RunOptions } from './database.ts'
import { WAKE } from './signals-in.ts'
import { FENCE, type Fence } from './steps.ts'

/**
 * Approvals: a question to a person is a step that waits, stored when it is asked, not when its task parks: it can be seen
 * and answered while other branches run. The first answer stands; the end of its time is an answer too.
 */

export interface Question {
  readonly key: string
  /** JSON text: title and details. */
  readonly request: string
  readonly timeoutMs: number | null
}

/** ASK: fenced; insert, never over a row. False: the attempt is not ours. */
export async function askApproval(
  db: Database,
  fence: Fence,
  { key, request, timeoutMs }: Question,
  options: RunOptions,
): Promise<boolean> {
  const rows = await db.run(
    `with f as materialized (select t.id from foothold.tasks t where ${FENCE} for no key update),
     i as (
       insert into foothold.agent_steps (task_id, key, kind, status, attempt, worker_id, request, due_at, started_at)
       select f.id, $4, 'approval', 'waiting', $2, $3, $5::json, foothold.clock() + $6::float8 * interval '1 ms', foothold.clock()
       from f on conflict do nothing)
     select 1 from f`,
    [fence.taskId, fence.attempt, fence.workerId, key, request, timeoutMs],
    options,
  )
  return rows.length > 0
}

export interface Answer {
  readonly taskId: string
  readonly key: string
  readonly decision: 'approved' | 'rejected'
  readonly by: string
  readonly note: string | null
}

/** As our codec writes a Date. */
const NOW = `json_build_object('$foothold', 'date', 'value',
  to_char(foothold.clock() at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'))`

/**
 * ANSWER: the task's row first, then the step, then the task is woken. Null: there is no such question, or it has its
 * answer, or its time is over though nobody has noticed yet.
 */
export async function answerApproval(
  db: Database,
  { taskId, key, decision, by, note }: Answer,
): Promise<{ readonly handler: string; readonly isPending: boolean } | null> {
  const rows = await db.run<{ handler: string; isPending: boolean }>(
    `with t as materialized (
       select id from foothold.tasks where id = $1 and status in ('pending', 'processing', 'waiting', 'dead_letter') for no key update),
     s as (
       update foothold.agent_steps s set status = 'completed', worker_id = 'person:' || $4::text, due_at = null,
         output = json_build_object('decision', $3::text, 'by', $4::text, 'note', $5::text, 'at', ${NOW}), finished_at = foothold.clock()
       from t where s.task_id = t.id and s.key = $2 and s.kind = 'approval' and s.status = 'waiting'
         and (s.due_at is null or s.due_at > foothold.clock())
       returning s.task_id)
     update foothold.tasks set ${WAKE} from s where tasks.id = s.task_id
     returning handler, status = 'pending' as "isPending"`,
    [taskId, key, decision, by, note],
    { doing: 'storing an approval' },
  )
  return rows[0] ?? null
}

export interface ApprovalStanding {
  readonly status: TaskStatus
  /** Null: no such step. */
  readonly step: {
    readonly kind: string
    readonly status: string
    /** JSON text; of a question whose time ran out the value null. */
    readonly output: string | null
    readonly isOver: boolean
  } | null
  /** Questions of this task, asked and not answered. */
  readonly open: readonly string[]
}

/** Null: there is no such task. */
export async function readApproval(db: Database, id: string, key: string): Promise<ApprovalStanding | null> {
  const rows = await db.run<ApprovalStanding>(
    `select t.status,
       (select json_build_object('kind', s.kind, 'status', s.status, 'output', s.output::text,
                                 'isOver', coalesce(s.due_at <= foothold.clock(), false))
        from foothold.agent_steps s where s.task_id = t.id and s.key = $2) as step,
       array(select s.key from foothold.agent_steps s
             where s.task_id = t.id and s.kind = 'approval' and s.status = 'waiting' order by s.started_at, s.key) as open
     from foothold.tasks t where t.id = $1`,
    [id, key],
    { doing: 'reading an approval' },
  )
  return rows[0] ?? null
}

export interface OpenApprovalRow {
  readonly taskId: string
  readonly key: string
  readonly agent: string
  readonly tenant: string
  /** JSON text. */
  readonly request: string
  readonly askedAt: Date | string
  readonly expiresAt: Date | string | null
}

/** The oldest first, of tasks that have not ended; what waits for a time alone asks nobody. */
export async function readOpenApprovals(db: Database, limit: number): Promise<readonly OpenApprovalRow[]> {
  return db.run<OpenApprovalRow>(
    `select t.id as "taskId", s.key, t.agent, t.tenant, s.request::text as request, s.started_at as "askedAt", s.due_at as "expiresAt"
     from foothold.tasks t join foothold.agent_steps s on s.task_id = t.id
     where (t.status in ('pending', 'processing') or t.status = 'waiting' and t.waiting_for not in ('sleep', 'start'))
       and s.kind = 'approval' and s.status = 'waiting' and coalesce(s.due_at > foothold.clock(), true)
     order by t.id, s.key limit $1`,
    [limit],
    { doing: 'listing approvals' },
  )
}
