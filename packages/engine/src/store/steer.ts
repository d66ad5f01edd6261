import type { TaskStatus } from '../protocol/views.ts'
import type { Database } from './database.ts'

/**
 * What people and applications do to a task from outside. Each is one statement that decides on the columns of the row it
 * locks; where a repetition after a lost answer could be taken for a refusal, the attempt that was seen before is part of
 * the guard: attempts only grow, so whoever finds the task moved on from exactly there knows that it is done.
 */

/** Null: it has ended, or there is none. */
export async function requestCancel(
  db: Database,
  id: string,
  reason: string,
): Promise<{ readonly status: 'cancelled' | 'processing' } | null> {
  const rows = await db.run<{ status: 'cancelled' | 'processing' }>(
    `update foothold.tasks set
       cancel_requested_at = coalesce(cancel_requested_at, foothold.clock()),
       cancel_reason = coalesce(cancel_reason, $2),
       wake_seq = wake_seq + 1,
       status = case when status = 'processing' then status else 'cancelled' end,
       last_reason = case when status = 'processing' then last_reason else 'cancelled' end,
       finished_at = case when status = 'processing' then null else foothold.clock() end,
       wake_at = null, waiting_for = null
     where id = $1 and status in ('pending', 'processing', 'waiting', 'dead_letter')
     returning status`,
    [id, reason],
    { doing: 'cancelling a task' },
  )
  return rows[0] ?? null
}

export interface Standing {
  readonly status: TaskStatus
  readonly attempt: number
  /** Changed code has refused it. */
  readonly isRefused: boolean
}

export async function readStanding(db: Database, id: string): Promise<Standing | null> {
  const rows = await db.run<Standing>(
    `select status, attempt, (${IS_REFUSED}) is true as "isRefused" from foothold.tasks where id = $1`,
    [id],
    {
      doing: 'reading the state of a task',
    },
  )
  return rows[0] ?? null
}

/** Fresh budgets: what was counted before a person looked at the task is not held against it. */
const BACK_TO_PENDING = `
  status = 'pending', crash_count = 0, crashes_total = 0, retry_count = 0, suspect = false,
  deadline_at = case when deadline_ms is null then deadline_at end,
  wake_at = null, waiting_for = null, refused_by = null, finished_at = null, cancel_requested_at = null, cancel_reason = null`

/** A child that goes on has an end to be told of again. */
const BACK_AMONG_CHILDREN = `
     o as (
       insert into foothold.children (child_id, parent_id)
       select t.id, t.parent_id from t where t.parent_key is not null on conflict do nothing)`

const FRESH_STEP = `tries = 0, retryable = true, due_at = null`

/** What waits for other code stands as still as a dead letter, and takes the same commands. */
const IS_REFUSED = `status = 'waiting' and waiting_for = 'code'`

/** RESUME: a dead letter goes on from its failed step. Null: it is not (any more) the dead letter that was seen. */
export async function resumeTask(
  db: Database,
  id: string,
  attemptSeen: number,
): Promise<{ readonly handler: string } | null> {
  const rows = await db.run<{ handler: string }>(
    `with t as (
       update foothold.tasks set ${BACK_TO_PENDING}
       where id = $1 and (status = 'dead_letter' or ${IS_REFUSED}) and attempt = $2 returning id, handler, parent_id, parent_key),
     s as (update foothold.agent_steps s set ${FRESH_STEP} from t where s.task_id = t.id and s.status = 'failed'),
     p as (update foothold.task_payloads p set error = null from t where p.task_id = t.id),${BACK_AMONG_CHILDREN}
     select handler from t`,
    [id, attemptSeen],
    { doing: 'resuming a task' },
  )
  return rows[0] ?? null
}

export interface StepStanding {
  readonly key: string
  readonly kind: string
  readonly status: string
  /** Started at or after the step from which the task is to begin again. */
  readonly isForgotten: boolean
}

export async function readStepsFrom(db: Database, id: string, from: string): Promise<readonly StepStanding[]> {
  return db.run<StepStanding>(
    `select s.key, s.kind, s.status, coalesce(s.started_at >= f.started_at, false) as "isForgotten"
     from foothold.agent_steps s left join foothold.agent_steps f on f.task_id = s.task_id and f.key = $2
     where s.task_id = $1 order by s.started_at, s.key`,
    [id, from],
    { doing: 'reading the steps of a task' },
  )
}

/** Where no stored step is left, nothing speaks against the version that the task was submitted for. */
const UNPINNED = `
  handler = case
    when begun_version is null
      or exists (select 1 from foothold.agent_steps s where s.task_id = tasks.id and s.key <> all($3::text[])) then handler
    else regexp_replace(handler, '@[0-9]+', '@' || begun_version) end`

/**
 * RESTART: the named steps are forgotten with their chunks, and the signals they had taken can be taken again. Nobody but
 * a worker adds steps, and no worker holds a task that has ended, so the names read before are still the right ones.
 */
export async function restartTask(
  db: Database,
  id: string,
  attemptSeen: number,
  forgotten: readonly string[],
): Promise<{ readonly handler: string } | null> {
  const rows = await db.run<{ handler: string }>(
    `with t as (
       update foothold.tasks set ${BACK_TO_PENDING}, ${UNPINNED}
       where id = $1 and (status in ('dead_letter', 'completed', 'cancelled') or ${IS_REFUSED}) and attempt = $2 returning id, handler, parent_id, parent_key),
     d as (delete from foothold.agent_steps s using t where s.task_id = t.id and s.key = any($3::text[])),
     s as (
       update foothold.agent_steps s set ${FRESH_STEP} from t
       where s.task_id = t.id and s.status = 'failed' and s.key <> all($3::text[])),
     g as (update foothold.signals g set consumed_by = null from t where g.task_id = t.id and g.consumed_by = any($3::text[])),
     c as (delete from foothold.stream_chunks c using t where c.task_id = t.id and c.key = any($3::text[])),
     p as (update foothold.task_payloads p set output = null, error = null from t where p.task_id = t.id),${BACK_AMONG_CHILDREN}
     select handler from t`,
    [id, attemptSeen, forgotten],
    { doing: 'restarting a task' },
  )
  return rows[0] ?? null
}

export interface EffectStanding {
  readonly status: TaskStatus
  readonly waitingFor: string | null
  /** Null: no such step. */
  readonly step: {
    readonly kind: string
    readonly status: string
    readonly refusals: number
    /** JSON text. */
    readonly output: string | null
  } | null
  readonly keys: readonly string[]
}

export async function readEffect(db: Database, id: string, key: string): Promise<EffectStanding | null> {
  const rows = await db.run<EffectStanding>(
    `select t.status, t.waiting_for as "waitingFor",
       (select json_build_object('kind', s.kind, 'status', s.status, 'refusals', s.refusals, 'output', s.output::text)
        from foothold.agent_steps s where s.task_id = t.id and s.key = $2) as step,
       array(select s.key from foothold.agent_steps s where s.task_id = t.id order by s.started_at, s.key) as keys
     from foothold.tasks t where t.id = $1`,
    [id, key],
    { doing: 'reading an effect' },
  )
  return rows[0] ?? null
}

export interface DecisionWrite {
  readonly taskId: string
  readonly key: string
  /** JSON text of the result; null: it did not happen. */
  readonly output: string | null
  /** JSON text of what is shown beside a step that did not happen. */
  readonly error: string | null
  readonly decidedBy: string
}

/** A person's word on an effect in doubt wakes its task. Null: it does not wait for a person, or the effect is settled. */
export async function decideEffect(
  db: Database,
  decision: DecisionWrite,
): Promise<{ readonly handler: string } | null> {
  const rows = await db.run<{ handler: string }>(
    `with t as materialized (
       select id from foothold.tasks where id = $1 and status = 'waiting' and waiting_for = 'person' for no key update),
     s as (
       update foothold.agent_steps s set
         status = case when $3::json is null then 'failed' else 'completed' end,
         output = $3::json, error = $4::json, worker_id = $5, retryable = true, due_at = null, doubt_until = null,
         tries = case when $3::json is null then 0 else s.tries end,
         refusals = s.refusals + ($3::json is null)::int, finished_at = foothold.clock()
       from t where s.task_id = t.id and s.key = $2 and s.kind = 'effect' and s.status in ('unknown', 'intent')
       returning s.task_id)
     update foothold.tasks t set status = 'pending', wake_seq = wake_seq + 1, wake_at = null, waiting_for = null
     from s where t.id = s.task_id
     returning t.handler`,
    [decision.taskId, decision.key, decision.output, decision.error, decision.decidedBy],
    { doing: 'storing a decision' },
  )
  return rows[0] ?? null
}
