import { decode } from '../protocol/codec.ts'
import type { TaskId, Usage } from '../protocol/task-context.ts'
import {
  type AttemptView,
  type ChildView,
  PRIORITIES,
  type QuestionView,
  type StepView,
  type StoredError,
  type TaskStatus,
  type TaskSummary,
  type WorkerView,
} from '../protocol/views.ts'
import { pausesOf } from './pauses.ts'

/**
 * From rows to views. Times are read through `new Date`: an application may have told `pg` to leave them as text, or they
 * come inside JSON.
 */

type Time = Date | string

const MESSAGE_CHARACTERS_MAX = 2_000

export interface TaskRow {
  readonly id: string
  readonly agent: string
  readonly handler: string
  readonly status: TaskStatus
  readonly priority: number
  readonly tenant: string
  readonly attempt: number
  readonly workerId: string | null
  readonly lastReason: string | null
  readonly waitingFor: string | null
  readonly wakeAt: Time | null
  readonly pausedBy: 'agent' | 'tenant' | null
  readonly retryCount: number
  readonly crashCount: number
  readonly handoverCount: number
  readonly cancelRequestedAt: Time | null
  readonly createdAt: Time
  readonly startedAt: Time | null
  readonly finishedAt: Time | null
}

export const TASK_COLUMNS: string = `
  t.id, t.agent, t.handler, t.status, t.priority, t.tenant, t.attempt, t.worker_id as "workerId", t.last_reason as "lastReason",
  case when t.status in ('pending', 'processing', 'waiting') then
    (select kind from (${pausesOf({ handler: 't.handler', tenant: 't.tenant' })}) h order by kind limit 1) end as "pausedBy",
  t.waiting_for as "waitingFor", t.wake_at as "wakeAt", t.retry_count as "retryCount", t.crash_count as "crashCount",
  t.handover_count as "handoverCount", t.cancel_requested_at as "cancelRequestedAt", t.created_at as "createdAt",
  t.started_at as "startedAt", t.finished_at as "finishedAt"`

export function summaryOf(row: TaskRow): TaskSummary {
  return {
    id: row.id as TaskId,
    agent: row.agent,
    version: versionOf(row.handler),
    status: row.status,
    priority: PRIORITIES[row.priority] ?? 'normal',
    tenant: row.tenant === '' ? null : row.tenant,
    attempt: row.attempt,
    workerId: row.workerId,
    lastReason: row.lastReason,
    waitingFor: row.waitingFor,
    wakeAt: dateOrNull(row.wakeAt),
    pausedBy: row.pausedBy,
    errorCount: row.retryCount,
    crashCount: row.crashCount,
    handoverCount: row.handoverCount,
    cancelRequestedAt: dateOrNull(row.cancelRequestedAt),
    createdAt: new Date(row.createdAt),
    startedAt: dateOrNull(row.startedAt),
    finishedAt: dateOrNull(row.finishedAt),
  }
}

/** `support@3`, or `support@3/dead_letter` of a follow-up. */
function versionOf(handler: string): number {
  return Number(/@(\d+)/.exec(handler)?.[1] ?? 0)
}

export interface StepRow
  extends Pick<StepView, 'key' | 'kind' | 'status' | 'version' | 'tries' | 'attempt' | 'workerId'> {
  readonly output: string | null
  readonly error: string | null
  readonly usage: string | null
  readonly child: ChildView | null
  readonly question: string | null
  readonly dueAt: Time | null
  readonly startedAt: Time
  readonly finishedAt: Time | null
}

/** One step as JSON; payload columns travel as text, so that only our codec reads them. */
export const STEP_ROW_AS_JSON = `json_build_object(
  'key', s.key, 'kind', s.kind, 'status', s.status, 'version', s.version, 'tries', s.tries, 'attempt', s.attempt,
  'workerId', s.worker_id, 'output', s.output::text, 'error', s.error::text, 'usage', s.usage::text,
  'child', case when s.kind = 'child' then
    (select json_build_object('id', c.id, 'agent', c.agent, 'status', c.status) from foothold.tasks c where c.id = s.child_id) end,
  'question', case when s.kind = 'approval' then s.request::text end, 'dueAt', s.due_at,
  'startedAt', s.started_at, 'finishedAt', s.finished_at)`

export function stepOf(row: StepRow): StepView {
  return {
    key: row.key,
    kind: row.kind,
    status: row.status,
    version: row.version,
    tries: row.tries,
    attempt: row.attempt,
    workerId: row.workerId,
    output: decodeOrNull(row.output),
    error: storedErrorOf(row.error),
    usage: decodeOrNull(row.usage) as Usage | null,
    child: row.child,
    question: questionOf(row),
    startedAt: new Date(row.startedAt),
    finishedAt: dateOrNull(row.finishedAt),
  }
}

function questionOf({ question, dueAt }: StepRow): QuestionView | null {
  if (question === null) return null
  return { ...(decode(question) as Pick<QuestionView, 'title' | 'details'>), expiresAt: dateOrNull(dueAt) }
}

export interface AttemptRow extends Omit<AttemptView, 'startedAt' | 'endedAt'> {
  readonly startedAt: Time
  readonly endedAt: Time
}

export const ATTEMPT_ROW_AS_JSON = `json_build_object(
  'attempt', a.attempt, 'workerId', a.worker_id, 'startedAt', a.started_at, 'endedAt', a.ended_at, 'outcome', a.outcome,
  'reason', a.reason, 'detail', a.detail)`

export function attemptOf(row: AttemptRow): AttemptView {
  return { ...row, startedAt: new Date(row.startedAt), endedAt: new Date(row.endedAt) }
}

export interface WorkerRow extends Omit<WorkerView, 'startedAt' | 'lastHeartbeatAt'> {
  readonly startedAt: Time
  readonly lastHeartbeatAt: Time
}

export function workerOf(row: WorkerRow): WorkerView {
  return { ...row, startedAt: new Date(row.startedAt), lastHeartbeatAt: new Date(row.lastHeartbeatAt) }
}

/** Errors are written by us, but read by people: whatever stands there, they get a code and a message. */
export function storedErrorOf(text: string | null): StoredError | null {
  if (text === null) return null
  const error = decode(text) as { code?: unknown; message?: unknown } | null
  const code = typeof error?.code === 'string' ? error.code : 'UNKNOWN'
  return { code, message: typeof error?.message === 'string' ? error.message : text.slice(0, MESSAGE_CHARACTERS_MAX) }
}

export function decodeOrNull(text: string | null): unknown {
  return text === null ? null : decode(text)
}

export function dateOrNull(time: Time | null): Date | null {
  return time === null ? null : new Date(time)
}
