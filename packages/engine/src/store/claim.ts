import { claimInTurn } from './claim-in-turn.ts'
import {
  BEGINNING,
  CLAIMED,
  type Claim,
  type ClaimedId,
  type ClaimRequest,
  HANDLERS,
  isFree,
  isOurs,
  me,
  PAUSED,
} from './claimable.ts'
import type { Database } from './database.ts'
import { pausesOf } from './pauses.ts'

/**
 * CLAIM and the load behind it.
 * 1. The worker's own row is locked FOR KEY SHARE: a worker declared lost, or draining, claims nothing. FOR SHARE would
 *    block its heartbeat.
 * 2. MATERIALIZED: else the planner may run the locking sub-select once per row and claim more than the limit.
 * 3. LATERAL per handler rides tasks_pending in its order, whatever a million rows of other handlers lie before it.
 * 4. A task that another release is to have (yield_until) is passed over by the release that gave it up. Only tasks handed
 *    over within the last seconds are, so this walks past a handful of rows and never past a backlog.
 * 5. What is paused is not claimed, by this very statement: a paused agent's handlers are not looked at, a paused release
 *    is no worker here, and what is left of a paused tenant at the head of the queue is passed over (store/pauses.ts).
 * 6. Steps, payload and signals are read in a second statement: in the same one they would come from a snapshot older
 *    than the lock, and a step stored by the predecessor in between would run again.
 * 7. What changed code has refused waits off tasks_pending, however much of it there is. A claim of its own, now and then,
 *    looks whether this release has not refused it yet.
 */

/** One try: after a lost answer the worker's next ping adopts what was claimed, by the claim id. */
export async function claimTasks(db: Database, request: ClaimRequest): Promise<Claim> {
  const { workerId, claimId, handlers, limit, oldestFirst, turn = null } = request
  const options = { doing: 'claiming tasks', patienceMs: 0 }
  if (turn !== null || oldestFirst) return claimInTurn(db, request, turn ?? BEGINNING, options)
  const [row] = await db.run<{ claimed: ClaimedId[]; hasLimits: boolean; hasTenants: boolean }>(
    claimText(request),
    [workerId, claimId, handlers, limit],
    options,
  )
  const { claimed = [], hasLimits = false, hasTenants = false } = row ?? {}
  if (hasLimits) return claimInTurn(db, request, BEGINNING, options)
  return { claimed, setAside: 0, nextTurn: hasTenants && claimed.length === limit ? BEGINNING : null }
}

/** In the order of the queue. Where there is a limit it claims nothing, and the claim in turn follows at once. */
function claimText({ kind }: ClaimRequest): string {
  const order = kind === 'pending' ? 'priority, run_at, id' : 'run_at, id'
  return `
    with ${PAUSED}, limited as materialized (select exists (select 1 from foothold.limits) as yes),
    ${me(' and not (select yes from limited)')},
    c as materialized (
      select t.id from ${HANDLERS} cross join lateral (
        select id from foothold.tasks
        where ${isOurs(kind)} and ${isFree('tenant')}
        order by ${order} limit $4 for no key update skip locked) t
      limit $4),
    t as (
      update foothold.tasks t set ${CLAIMED}
      from c where t.id = c.id
      returning t.id, t.attempt, t.tenant)
    select (select yes from limited) as "hasLimits", coalesce(bool_or(tenant <> ''), false) as "hasTenants",
      coalesce(json_agg(json_build_object('id', id, 'attempt', attempt)), '[]') as claimed
    from t`
}

/** None that is paused: a worker that clears its hands for one it may not claim would do nothing else any more. */
export async function hasSuspects(db: Database, workerId: string, handlers: readonly string[]): Promise<boolean> {
  const rows = await db.run(
    `select 1 from foothold.tasks t
     where status = 'pending' and suspect and handler = any($2)
       and not exists (${pausesOf({ handler: 't.handler', tenant: 't.tenant', release: '(select release from foothold.workers where id = $1)' })}) limit 1`,
    [workerId, handlers],
    { doing: 'looking for suspects', patienceMs: 0 },
  )
  return rows.length > 0
}

export interface LoadedTask {
  readonly id: string
  readonly agent: string
  readonly handler: string
  readonly attempt: number
  readonly tenant: string
  readonly tickAt: Date | null
  readonly wakeSeq: number
  readonly isCancelRequested: boolean
  readonly deadlineInMs: number | null
  readonly isInputChecked: boolean
  /** The schema that checked it accepts what was stored, so that it can be checked again. */
  readonly isInputStable: boolean
  /** Differs from its handler's where the code of another version has gone on with it. */
  readonly begunVersion: number | null
  readonly isChild: boolean
  readonly input: string
  /** What interrupted the attempt before this one, and how long ago at the claim; null where it ended by itself. */
  readonly recovery: { readonly cause: 'handed_over' | 'orphaned'; readonly seconds: number } | null
  readonly steps: readonly LoadedStep[]
  readonly signals: readonly LoadedSignal[]
}

export interface LoadedStep {
  readonly key: string
  readonly kind: string
  readonly version: number
  readonly status: 'intent' | 'waiting' | 'failed' | 'completed' | 'unknown'
  readonly tries: number
  readonly retryable: boolean
  readonly attempt: number
  readonly workerId: string
  readonly idempotencyKey: string | null
  readonly refusals: number
  readonly request: string | null
  /** Null also where it is stored but large: read when its step is reached. */
  readonly output: string | null
  readonly error: StepError | null
  readonly childId: string | null
  readonly isChildOver: boolean
  /** Milliseconds from now; 0 when due, null when it waits for nothing. */
  readonly dueInMs: number | null
  readonly doubtInMs: number | null
  readonly ageMs: number
}

export interface StepError {
  readonly code: string
  readonly message: string
  readonly reason: string
  /** Of a child that did not complete: what its error is made of again. */
  readonly details?: unknown
}

export interface LoadedSignal {
  /** A bigint as digits. */
  readonly id: string
  readonly name: string
  readonly payload: string
}

/** Null stays null, which greatest() alone would make a 0. */
const inMs = (column: string): string =>
  `case when ${column} is not null then ceil(greatest(0, extract(epoch from ${column} - foothold.clock()) * 1000)) end::float8`

/** Larger results stay where they are until their step is reached: fifty claims must not fill a process. */
const LARGE_BYTES = 256 * 1024
/** The stored size first, for which nothing is unpacked; what compresses well is then measured as it will travel. */
const IS_LARGE = `case when pg_column_size(s.output) > ${LARGE_BYTES} then true else octet_length(s.output::text) > ${LARGE_BYTES} end`
/** The child of a step that waits for it has ended, or is gone: nobody will wake the step again. */
export const IS_CHILD_OVER = `(s.kind = 'child' and s.status <> 'completed' and not exists (
    select 1 from foothold.tasks c where c.id = s.child_id and c.status in ('pending', 'processing', 'waiting')))`

/** One step as JSON; the payload columns travel as text, so that only our codec reads them. */
const stepAsJson = (request: string, output: string): string => `json_build_object(
  'key', s.key, 'kind', s.kind, 'version', s.version, 'status', s.status, 'tries', s.tries, 'retryable', s.retryable,
  'attempt', s.attempt, 'workerId', s.worker_id, 'idempotencyKey', s.idempotency_key, 'refusals', s.refusals,
  'request', ${request}, 'output', ${output}, 'error', s.error, 'childId', s.child_id, 'isChildOver', ${IS_CHILD_OVER},
  'dueInMs', ${inMs('s.due_at')}, 'doubtInMs', ${inMs('s.doubt_until')},
  'ageMs', greatest(0, extract(epoch from foothold.clock() - s.started_at) * 1000)::float8)`

export const STEP_AS_JSON: string = stepAsJson('s.request::text', 's.output::text')

/** As a claim loads it. What an answered effect had asked for, nobody reads again. */
const CLAIMED_STEP_AS_JSON = stepAsJson(
  `case when s.status <> 'completed' then s.request::text end`,
  `case when not ${IS_LARGE} then s.output::text end`,
)

/**
 * From a worker that was lost its last heartbeat is the last that is known. A handover that somebody asked for, other than
 * by stopping the worker, is no interruption.
 */
const RECOVERY = `(
  select json_build_object('cause', a.outcome, 'seconds', extract(epoch from t.claimed_at
           - case a.outcome when 'orphaned' then coalesce(w.last_heartbeat_at, a.ended_at) else a.ended_at end)::float8)
  from foothold.attempts a left join foothold.workers w on w.id = a.worker_id
  where a.task_id = t.id and a.attempt = t.attempt - 1
    and (a.outcome = 'orphaned' or a.outcome = 'handed_over' and a.reason in ('graceful_shutdown', 'database_error')))`

export async function loadTasks(
  db: Database,
  workerId: string,
  ids: readonly string[],
  signal: AbortSignal,
): Promise<readonly LoadedTask[]> {
  return db.run<LoadedTask>(
    `select t.id, t.agent, t.handler, t.attempt, t.tenant, t.tick_at as "tickAt", t.wake_seq as "wakeSeq",
            t.cancel_requested_at is not null as "isCancelRequested",
            ${inMs('t.deadline_at')} as "deadlineInMs", t.input_checked as "isInputChecked",
            t.input_stable as "isInputStable", t.begun_version as "begunVersion", t.parent_key is not null as "isChild", p.input::text as input,
            ${RECOVERY} as recovery,
            coalesce((select json_agg(${CLAIMED_STEP_AS_JSON}) from foothold.agent_steps s where s.task_id = t.id), '[]') as steps,
            coalesce((select json_agg(json_build_object('id', g.id::text, 'name', g.name, 'payload', g.payload::text) order by g.id)
                      from foothold.signals g where g.task_id = t.id and g.consumed_by is null), '[]') as signals
     from foothold.tasks t join foothold.task_payloads p on p.task_id = t.id
     where t.id = any($2::uuid[]) and t.worker_id = $1 and t.status = 'processing'`,
    [workerId, ids],
    { doing: 'loading claimed tasks', patienceMs: Number.POSITIVE_INFINITY, signal },
  )
}
