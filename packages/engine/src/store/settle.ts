import { INSERT_ALERTS } from './alerts.ts'
import type { Database, RunOptions } from './database.ts'
import type { Fence } from './steps.ts'
import { PENDING_CHANNEL } from './workers.ts'

/**
 * How an attempt ends. Each is one fenced UPDATE of the task row with the payload and the attempts row in the same
 * statement; no row means that the attempt is no longer ours, or that an earlier try of the same statement landed.
 */

const FENCE = `id = $1 and attempt = $2 and worker_id = $3 and status = 'processing'`

const attemptsRow = (outcome: string, reason: string, detail: string): string => `
  insert into foothold.attempts (task_id, attempt, worker_id, started_at, ended_at, outcome, reason, detail)
  select t.id, t.attempt, $3, t.claimed_at, foothold.clock(), ${outcome}, ${reason}, ${detail} from t
  on conflict do nothing`

/** COMPLETE. False: see `endedBy`. */
export async function completeTask(db: Database, fence: Fence, output: string, options: RunOptions): Promise<boolean> {
  const rows = await db.run(
    `with t as (
       update foothold.tasks set status = 'completed', worker_id = null, claim_id = null, last_reason = null, finished_at = foothold.clock()
       where ${FENCE} returning id, attempt, claimed_at),
     p as (update foothold.task_payloads p set output = $4::json from t where p.task_id = t.id),
     a as (${attemptsRow(`'completed'`, `'completed'`, 'null')})
     select 1 from t`,
    [fence.taskId, fence.attempt, fence.workerId, output],
    options,
  )
  return rows.length > 0
}

/** What stands where a fenced statement changed nothing: the same attempt, ended, means that an earlier try landed. */
export async function endedBy(
  db: Database,
  fence: Fence,
  options: RunOptions,
): Promise<{ readonly status: string; readonly attempt: number; readonly workerId: string | null } | null> {
  const rows = await db.run<{ status: string; attempt: number; workerId: string | null }>(
    `select status, attempt, worker_id as "workerId" from foothold.tasks where id = $1`,
    [fence.taskId],
    options,
  )
  return rows[0] ?? null
}

/**
 * Longer than a new worker takes to come up once the one before has gone; what is handed over to nobody in particular waits
 * no longer than this for a release that was expected in vain.
 */
const YIELD_MS = 5_000
/**
 * From when the worker that leaves was told to: a deploy of everything at once tells one some milliseconds before the next,
 * and who is told last must not claim.
 */
const YIELD_TO_SIGNAL_MS = 250
/** Between two workers of a rolling deploy: within it, after one of the new release another one is expected. */
const NEXT_WORKER_MS = 60_000

/** To a newer release: one that came up after the worker that leaves, and has room, or is just being rolled out. */
const yieldUntil = (worker: string): string => `
  case when exists (
    select 1 from foothold.workers w, foothold.workers n
    where w.id = ${worker} and n.release <> w.release and n.started_at > w.started_at and tasks.handler = any(n.handlers)
      and n.status = 'active' and n.lease_until > foothold.clock()
      and (n.started_at > foothold.clock() - ${NEXT_WORKER_MS} * interval '1 ms'
           or n.concurrency > (select count(*) from foothold.tasks h where h.worker_id = n.id and h.status = 'processing')))
  then foothold.clock() + ${YIELD_MS} * interval '1 ms'
  else coalesce((select draining_since from foothold.workers where id = ${worker}), foothold.clock()) + ${YIELD_TO_SIGNAL_MS} * interval '1 ms' end`

/**
 * HAND OVER: back to pending, free of charge, in its old place of the queue; a task that was to be cancelled ends here.
 * What a stopping worker gives up is left to other releases for a moment, so that a rolling deploy does not cut it once per
 * old worker. Null when the attempt was no longer ours.
 */
export async function handOverTask(
  db: Database,
  fence: Fence,
  why: { readonly reason: string; readonly detail: string | null },
  options: RunOptions,
): Promise<{ readonly handler: string } | null> {
  const rows = await db.run<{ handler: string }>(
    `with t as (
       update foothold.tasks set
         status = case when cancel_requested_at is null then 'pending' else 'cancelled' end,
         finished_at = case when cancel_requested_at is null then null else foothold.clock() end,
         worker_id = null, claim_id = null, handover_count = handover_count + 1,
         left_release = (select release from foothold.workers where id = $3),
         yield_until = case when $4 = 'graceful_shutdown' then ${yieldUntil('$3')} end,
         last_reason = case when cancel_requested_at is null then $4 else 'cancelled' end
       where ${FENCE} returning id, attempt, claimed_at, handler, cancel_requested_at),
     a as (${attemptsRow(`case when t.cancel_requested_at is null then 'handed_over' else 'cancelled' end`, `case when t.cancel_requested_at is null then $4 else 'cancelled' end`, '$5')})
     select handler from t`,
    [fence.taskId, fence.attempt, fence.workerId, why.reason, why.detail],
    options,
  )
  return rows[0] ?? null
}

export interface Wait {
  /** What came in for the task since this number was read forbids the wait. */
  readonly wakeSeqSeen: number
  readonly waitingFor: 'retry' | 'sleep' | 'signal' | 'person' | 'approval' | 'child'
  /** Null: until something comes in. */
  readonly wakeInMs: number | null
  /** Why the attempt could not go on; null for a plain wait. */
  readonly reason: string | null
  readonly detail: string | null
  readonly failures: number
  /** The branches that wait; back-offs of failed steps are stored with those already. */
  readonly branches: readonly {
    readonly key: string
    readonly kind: 'sleep' | 'signal'
    readonly dueInMs: number | null
  }[]
}

/**
 * WAIT: fenced, and only if nothing came in meanwhile. Waiting for a person or a signal stops the clock of the agent's
 * deadline; one that the producer gave ends the wait.
 */
export async function parkTask(db: Database, fence: Fence, wait: Wait, options: RunOptions): Promise<boolean> {
  const rows = await db.run(
    `with t as (
       update foothold.tasks set status = 'waiting', worker_id = null, claim_id = null, waiting_for = $5,
         wake_at = least(foothold.clock() + $6::float8 * interval '1 ms', case when $5 = 'retry' or deadline_ms is null then deadline_at end),
         last_reason = coalesce($7, last_reason), retry_count = retry_count + $9,
         deadline_at = case when $5 <> 'retry' and deadline_ms is not null then null else deadline_at end
       where ${FENCE} and wake_seq = $4 and cancel_requested_at is null
       returning id, attempt, claimed_at),
     s as (
       insert into foothold.agent_steps (task_id, key, kind, status, attempt, worker_id, due_at, started_at)
       select t.id, v.key, v.kind, 'waiting', t.attempt, $3, foothold.clock() + v.due_in_ms * interval '1 ms', foothold.clock()
       from t, unnest($10::text[], $11::text[], $12::float8[]) v(key, kind, due_in_ms)
       on conflict (task_id, key) do nothing),
     a as (${attemptsRow(`'waiting'`, '$7', '$8')})
     select 1 from t`,
    [
      fence.taskId,
      fence.attempt,
      fence.workerId,
      wait.wakeSeqSeen,
      wait.waitingFor,
      wait.wakeInMs,
      wait.reason,
      wait.detail,
      wait.failures,
      wait.branches.map((b) => b.key),
      wait.branches.map((b) => b.kind),
      wait.branches.map((b) => b.dueInMs),
    ],
    options,
  )
  return rows.length > 0
}

/**
 * REFUSE: the code that ran does not fit what is stored. The task waits for the code of another release, or for a person;
 * budgets are untouched, the clock of the agent's deadline stands still, and on-call is told. False: see `endedBy`.
 */
export async function refuseTask(
  db: Database,
  fence: Fence,
  why: { readonly error: string; readonly detail: string; readonly failures: number },
  options: RunOptions,
): Promise<boolean> {
  const rows = await db.run(
    `with t as (
       update foothold.tasks set status = 'waiting', worker_id = null, claim_id = null, waiting_for = 'code', last_reason = 'code_changed',
         retry_count = retry_count + $6,
         refused_by = array_append(array_remove(refused_by, (select release from foothold.workers where id = $3)),
                                   (select release from foothold.workers where id = $3)),
         wake_at = case when deadline_ms is null then deadline_at end,
         deadline_at = case when deadline_ms is null then deadline_at end
       where ${FENCE} and cancel_requested_at is null returning id, attempt, claimed_at),
     p as (update foothold.task_payloads p set error = $4::json from t where p.task_id = t.id),
     a as (${attemptsRow(`'waiting'`, `'code_changed'`, '$5')}),
     dead as (select id, 'code_changed'::text as reason from t),
     ${INSERT_ALERTS}
     select 1 from t`,
    [fence.taskId, fence.attempt, fence.workerId, why.error, why.detail, why.failures],
    options,
  )
  return rows.length > 0
}

/**
 * PIN: from the first step that the code of another version begins, the task is that version's: what it stores, the older
 * code cannot know. `begun_version` keeps what the task was submitted for. False: not ours.
 */
export async function pinTask(db: Database, fence: Fence, handler: string, options: RunOptions): Promise<boolean> {
  const rows = await db.run(
    `update foothold.tasks set handler = $4, begun_version = coalesce(begun_version, substring(handler from '@([0-9]+)')::int)
     where ${FENCE} returning 1`,
    [fence.taskId, fence.attempt, fence.workerId, handler],
    options,
  )
  return rows.length > 0
}

/** CANCELLED by its worker, after what its effects answered was flushed. */
export async function cancelTask(db: Database, fence: Fence, options: RunOptions): Promise<boolean> {
  const rows = await db.run(
    `with t as (
       update foothold.tasks set status = 'cancelled', worker_id = null, claim_id = null, last_reason = 'cancelled', finished_at = foothold.clock()
       where ${FENCE} and cancel_requested_at is not null returning id, attempt, claimed_at),
     a as (${attemptsRow(`'cancelled'`, `'cancelled'`, 'null')})
     select 1 from t`,
    [fence.taskId, fence.attempt, fence.workerId],
    options,
  )
  return rows.length > 0
}

/**
 * What goes with every row in `dead` (id, reason, error), in the dead letter's own transaction: the alert for on-call, and
 * the follow-up task, so that someone always gets an answer; its input is the dead task's, with what stopped it. Whatever
 * makes dead letters has it in its statement: this one and the sweep.
 */
export const WITH_DEAD_LETTERS: string = `${INSERT_ALERTS},
  insert_follow_up as (
    insert into foothold.tasks (id, agent, handler, status, priority, run_at, tenant, parent_id, input_checked, deadline_ms, created_at)
    select foothold.new_id(), t.agent || '/dead_letter', t.handler || '/dead_letter', 'pending', 0, foothold.clock(), t.tenant, t.id, t.input_checked, a.deadline_ms, foothold.clock()
    from dead join foothold.tasks t on t.id = dead.id join foothold.agents a on a.handler = t.handler
    where a.has_dead_letter_handler
    returning id, parent_id, handler),
  insert_follow_up_payload as (
    insert into foothold.task_payloads (task_id, input)
    select f.id, json_build_object('input', p.input, 'deadLetter', json_build_object('id', dead.id, 'reason', dead.reason, 'error', dead.error))
    from insert_follow_up f join dead on dead.id = f.parent_id join foothold.task_payloads p on p.task_id = dead.id)`

/**
 * DEAD LETTER by its worker. Null: not ours, or its cancel was asked for and comes first; else the handlers of follow-up
 * tasks to announce.
 */
export async function deadLetterTask(
  db: Database,
  fence: Fence,
  why: { readonly reason: string; readonly error: string; readonly detail: string; readonly failures: number },
  options: RunOptions,
): Promise<readonly string[] | null> {
  const rows = await db.run<{ held: boolean; handlers: string[] }>(
    `with t as (
       update foothold.tasks set status = 'dead_letter', worker_id = null, claim_id = null, last_reason = $4,
         retry_count = retry_count + $7, finished_at = foothold.clock()
       where ${FENCE} and cancel_requested_at is null returning id, attempt, claimed_at),
     p as (update foothold.task_payloads p set error = $5::json from t where p.task_id = t.id),
     a as (${attemptsRow(`'dead_letter'`, '$4', '$6')}),
     dead as (select id, $4::text as reason, $5::json as error from t),
     ${WITH_DEAD_LETTERS}
     select exists (select 1 from t) as held, coalesce((select array_agg(handler) from insert_follow_up), '{}') as handlers`,
    [fence.taskId, fence.attempt, fence.workerId, why.reason, why.error, why.detail, why.failures],
    options,
  )
  const row = rows[0] as { held: boolean; handlers: string[] }
  return row.held ? row.handlers : null
}

/** After the commit, in a statement of its own: a NOTIFY inside the write would serialise all commits. */
export async function announcePending(db: Database, handlers: readonly string[], options: RunOptions): Promise<void> {
  if (handlers.length === 0) return
  await db.run(`select pg_notify('${PENDING_CHANNEL}', h) from unnest($1::text[]) h`, [[...new Set(handlers)]], options)
}
