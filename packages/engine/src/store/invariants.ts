import type { Database } from './database.ts'

/**
 * What must be true of the tables whatever happened to the processes: docs/protocol.md as queries. Each selects the tasks
 * that break it. Finished tasks are looked at from the newest back, so that a look at a year's tables stays a look.
 */

export interface Invariant {
  readonly name: string
  /** What holds when nothing is found. */
  readonly holds: string
  /** `warning`: a person should look, nothing is broken. */
  readonly level: 'warning' | 'error'
  readonly cure: string
  readonly violations: string
}

export interface Violations {
  /** Counted up to a bound. */
  readonly count: number
  readonly examples: readonly string[]
}

export const FINISHED_MAX = 10_000
const COUNT_MAX = 1_000
const EXAMPLES_MAX = 3
/** Workers look for what is due every second, for orphans twice a second. */
const LATE_SECONDS = 60

const RECENT = `(select * from foothold.tasks order by id desc limit ${FINISHED_MAX})`
const LATE = `interval '${LATE_SECONDS} seconds'`

export const INVARIANTS: readonly Invariant[] = [
  {
    name: 'owners',
    holds: 'every task in processing has a live worker',
    level: 'error',
    cure: 'Some worker must be alive to return them: foothold workers',
    violations: `
      select t.id from foothold.tasks t left join foothold.workers w on w.id = t.worker_id
      where t.status = 'processing'
        and (w.id is null or w.status in ('lost', 'stopped') or w.lease_until < foothold.clock())
        and greatest(coalesce(w.lease_until, t.claimed_at), t.claimed_at) + coalesce(w.lease_ms, 20000) * interval '1 ms' < foothold.clock()`,
  },
  {
    name: 'wakes',
    holds: 'every waiting task will be woken',
    level: 'error',
    cure: 'Some worker must be alive to wake what is due (foothold workers); what nothing will wake can be cancelled.',
    violations: `
      select t.id from foothold.tasks t
      where t.status = 'waiting' and case
        when t.wake_at is not null then t.wake_at < foothold.clock() - ${LATE}
        -- Workers take it back within a second of the end of its tenant's pause.
        when t.waiting_for = 'pause' then false
        -- Other code, or a person: the doctor counts these by themselves.
        when t.waiting_for = 'code' then false
        -- Claimed where it stands when its limit has room.
        when t.waiting_for = 'limit' then false
        when t.waiting_for = 'person' then not exists (
          select 1 from foothold.agent_steps s
          where s.task_id = t.id and s.kind = 'effect' and s.status in ('unknown', 'intent'))
        when t.waiting_for in ('child', 'approval') then not exists (
          select 1 from foothold.agent_steps s where s.task_id = t.id and s.kind = t.waiting_for and s.status = 'waiting')
        when t.waiting_for = 'signal' then not exists (
          select 1 from foothold.agent_steps s where s.task_id = t.id and s.kind = 'signal' and s.status = 'waiting')
        else true end`,
  },
  {
    name: 'children',
    holds: 'every parent is told of the ends of its children, and what a cancelled one started is cancelled too',
    level: 'error',
    cure: 'Some worker must be alive to tell them: foothold workers',
    violations: `
      select c.parent_id as id from foothold.children c join foothold.tasks t on t.id = c.child_id
        left join foothold.tasks p on p.id = c.parent_id
      where t.finished_at < foothold.clock() - ${LATE}
        or t.status <> 'completed' and p.status = 'cancelled' and p.finished_at < foothold.clock() - ${LATE} and t.cancel_requested_at is null
      union all
      select t.parent_id from ${RECENT} t
      where t.parent_key is not null and t.status in ('pending', 'processing', 'waiting')
        and not exists (select 1 from foothold.children c where c.child_id = t.id)`,
  },
  {
    name: 'claims',
    holds: 'a task has a worker exactly while it is processed, and an end exactly when it has ended',
    level: 'error',
    cure: 'Somebody wrote to foothold.tasks past this library.',
    violations: `
      select t.id from foothold.tasks t
      where (t.status = 'processing') is distinct from (t.worker_id is not null)
        or t.status = 'processing' and t.claimed_at is null
        or (t.status in ('completed', 'cancelled', 'dead_letter')) is distinct from (t.finished_at is not null)`,
  },
  {
    name: 'attempts',
    holds: 'every attempt that ended has left its row',
    level: 'error',
    cure: 'Somebody deleted from foothold.attempts, or wrote to foothold.tasks past this library.',
    violations: `
      select t.id from ${RECENT} t
      where t.attempt - (t.status = 'processing')::int <>
        (select count(*) from foothold.attempts a where a.task_id = t.id and a.attempt <= t.attempt)`,
  },
  {
    name: 'completions',
    holds: 'a completed task was completed by its last attempt',
    level: 'error',
    cure: 'Somebody wrote to foothold.tasks past this library.',
    violations: `
      select t.id from ${RECENT} t
      where t.status = 'completed' and not exists (
        select 1 from foothold.attempts a where a.task_id = t.id and a.attempt = t.attempt and a.outcome = 'completed')`,
  },
  {
    name: 'fences',
    holds: 'no step was written by an attempt that its task has not reached',
    level: 'error',
    cure: 'A database was restored in part, or somebody wrote past this library.',
    violations: `
      select t.id from ${RECENT} t
      where exists (select 1 from foothold.agent_steps s where s.task_id = t.id and s.attempt > t.attempt)
        or exists (select 1 from foothold.attempts a where a.task_id = t.id and a.attempt > t.attempt)`,
  },
  {
    name: 'payloads',
    holds: 'every task has its input',
    level: 'error',
    cure: 'Somebody deleted from foothold.task_payloads: cancel these tasks.',
    violations: `
      select t.id from ${RECENT} t
      where not exists (select 1 from foothold.task_payloads p where p.task_id = t.id)`,
  },
  {
    name: 'keys',
    holds: 'no two effects share an idempotency key',
    level: 'error',
    cure: 'A receiver may have taken two requests for one: compare their steps.',
    violations: `
      select min(t.id::text) as id from ${RECENT} t join foothold.agent_steps s on s.task_id = t.id
      where s.idempotency_key is not null group by s.idempotency_key having count(*) > 1`,
  },
  {
    name: 'doubts',
    holds: 'no task completed with an effect in doubt',
    level: 'warning',
    cure: 'Its code went another way after the effect had been sent: look at the receiver.',
    violations: `
      select t.id from ${RECENT} t
      where t.status = 'completed' and exists (
        select 1 from foothold.agent_steps s where s.task_id = t.id and s.status in ('intent', 'unknown'))`,
  },
  {
    name: 'cancels',
    holds: 'what was to be cancelled has stopped',
    level: 'warning',
    cure: 'Their code does not heed its signal, or their worker does not answer: foothold why <id>',
    violations: `
      select t.id from foothold.tasks t
      where t.status = 'processing' and t.cancel_requested_at < foothold.clock() - ${LATE}`,
  },
]

export async function findViolations(db: Database, invariant: Invariant): Promise<Violations> {
  const rows = await db.run<Violations>(
    `with v as (select id::text as id from (${invariant.violations}) f limit ${COUNT_MAX})
     select count(*)::int as count, coalesce((array_agg(id order by id))[1:${EXAMPLES_MAX}], '{}') as examples from v`,
    [],
    { doing: `checking that ${invariant.holds}`, patienceMs: 0 },
  )
  return rows[0] as Violations
}
