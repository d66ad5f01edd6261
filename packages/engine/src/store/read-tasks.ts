import { FootholdError } from '../protocol/errors.ts'
import type { TaskId } from '../protocol/task-context.ts'
import type { StoredError, TaskDetail, TaskState, TaskStatus, TaskSummary, WorkerView } from '../protocol/views.ts'
import type { Database, RunOptions } from './database.ts'
import {
  ATTEMPT_ROW_AS_JSON,
  type AttemptRow,
  attemptOf,
  dateOrNull,
  decodeOrNull,
  STEP_ROW_AS_JSON,
  type StepRow,
  stepOf,
  storedErrorOf,
  summaryOf,
  TASK_COLUMNS,
  type TaskRow,
  type WorkerRow,
  workerOf,
} from './task-rows.ts'

/** Workers leave their row behind when they stop; the list is for a screen. */
const WORKERS_MAX = 1_000

export interface TaskQuery {
  readonly status: TaskStatus | null
  readonly agent: string | null
  readonly tenant: string | null
  /** Tasks with a smaller id only. */
  readonly before: string | null
  readonly limit: number
}

/** Newest first: ids are made in the order of time. */
export async function readTasks(db: Database, query: TaskQuery): Promise<readonly TaskSummary[]> {
  const rows = await db.run<TaskRow>(
    `select ${TASK_COLUMNS} from foothold.tasks t
     where ($1::text is null or t.status = $1) and ($2::text is null or t.agent = $2) and ($3::text is null or t.tenant = $3)
       and ($4::uuid is null or t.id < $4)
     order by t.id desc limit $5`,
    [query.status, query.agent, query.tenant, query.before, query.limit],
    { doing: 'listing tasks' },
  )
  return rows.map(summaryOf)
}

interface DetailRow extends TaskRow {
  readonly deadlineAt: Date | string | null
  readonly parentId: string | null
  readonly parentKey: string | null
  readonly input: string
  readonly output: string | null
  readonly error: string | null
  readonly steps: readonly StepRow[]
  readonly attempts: readonly AttemptRow[]
}

/** One statement, one snapshot: a completed task is never shown with the steps of a moment before. */
export async function readTask(db: Database, id: string): Promise<TaskDetail | null> {
  const rows = await db.run<DetailRow>(
    `select ${TASK_COLUMNS}, t.deadline_at as "deadlineAt", t.parent_id as "parentId", t.parent_key as "parentKey",
       p.input::text as input, p.output::text as output, p.error::text as error,
       coalesce((select json_agg(${STEP_ROW_AS_JSON} order by s.started_at, s.key)
                 from foothold.agent_steps s where s.task_id = t.id), '[]') as steps,
       coalesce((select json_agg(${ATTEMPT_ROW_AS_JSON} order by a.attempt)
                 from foothold.attempts a where a.task_id = t.id), '[]') as attempts
     from foothold.tasks t join foothold.task_payloads p on p.task_id = t.id
     where t.id = $1`,
    [id],
    { doing: 'reading a task' },
  )
  const row = rows[0]
  if (row === undefined) return null
  return {
    ...summaryOf(row),
    input: decodeOrNull(row.input),
    output: decodeOrNull(row.output),
    error: storedErrorOf(row.error),
    deadlineAt: dateOrNull(row.deadlineAt),
    parentId: row.parentId as TaskId | null,
    parentKey: row.parentKey,
    steps: row.steps.map(stepOf),
    attempts: row.attempts.map(attemptOf),
  }
}

interface StateRow {
  readonly status: TaskStatus
  readonly lastReason: string | null
  readonly cancelReason: string | null
  readonly output: string | null
  readonly error: string | null
}

/** Null when there is no such task. */
export async function readState(db: Database, id: string): Promise<TaskState<unknown> | null> {
  const rows = await db.run<StateRow>(
    `select t.status, t.last_reason as "lastReason", t.cancel_reason as "cancelReason", p.output::text as output, p.error::text as error
     from foothold.tasks t join foothold.task_payloads p on p.task_id = t.id
     where t.id = $1`,
    [id],
    { doing: 'reading the state of a task' },
  )
  const row = rows[0]
  return row === undefined ? null : stateOf(row)
}

function stateOf({ status, lastReason, cancelReason, output, error }: StateRow): TaskState<unknown> {
  switch (status) {
    case 'pending':
    case 'processing':
    case 'waiting':
      return { status }
    case 'completed':
      return { status, output: decodeOrNull(output) }
    case 'cancelled':
      return { status, reason: cancelReason ?? 'cancelled' }
    case 'dead_letter':
      return { status, reason: lastReason ?? 'step_failed', error: storedErrorOf(error) ?? noError(lastReason) }
  }
}

function noError(reason: string | null): StoredError {
  return { code: 'UNKNOWN', message: `No error was stored (${reason ?? 'no reason'}).` }
}

/** Ids that do not exist are left out. */
export async function readStatuses(
  db: Database,
  ids: readonly string[],
  options: RunOptions,
): Promise<ReadonlyMap<string, TaskStatus>> {
  const rows = await db.run<{ id: string; status: TaskStatus }>(
    `select id, status from foothold.tasks where id = any($1::uuid[])`,
    [ids],
    options,
  )
  return new Map(rows.map((row) => [row.id, row.status]))
}

export async function readWorkers(db: Database): Promise<readonly WorkerView[]> {
  const rows = await db.run<WorkerRow>(
    `select id, release, status, handlers, concurrency, running, started_at as "startedAt", last_heartbeat_at as "lastHeartbeatAt",
       has_lifeline as "hasLifeline", loop_lag_ms as "loopLagMs", rss_bytes::float8 as "rssBytes"
     from foothold.workers order by started_at desc, id limit ${WORKERS_MAX}`,
    [],
    { doing: 'listing workers' },
  )
  return rows.map(workerOf)
}

export async function readAgentNames(db: Database): Promise<readonly string[]> {
  const rows = await db.run<{ name: string }>(`select distinct name from foothold.agents order by name`, [], {
    doing: 'listing agents',
  })
  return rows.map((row) => row.name)
}

/** A standby and a node set to read only answer as well, but take no task. */
export async function requireWritable(
  db: Database,
  options: RunOptions & { readonly patienceMs: number },
): Promise<void> {
  const rows = await db.run<{ isWritable: boolean }>(
    `select not pg_is_in_recovery() and current_setting('transaction_read_only') = 'off' as "isWritable"`,
    [],
    options,
  )
  if (rows[0]?.isWritable !== true) {
    throw new FootholdError('DATABASE_UNAVAILABLE', { doing: `${options.doing}: it is read-only`, waitedMs: 0 })
  }
}
