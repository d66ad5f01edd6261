import type { Database } from './database.ts'
import { storedErrorOf } from './task-rows.ts'
import { STARTED_CHANNEL } from './watch-tasks.ts'

/** What a person asks of a task and its own views do not tell: `foothold why`. */
export interface WhyFacts {
  readonly crashesMax: number
  readonly crashesTotal: number
  readonly isSuspect: boolean
  readonly handler: string
  readonly cancelReason: string | null
  readonly claimedAt: Date | null
  readonly runAt: Date
  /** How its worker stands; null when it has none. */
  readonly worker: { readonly status: string; readonly lastHeartbeatAt: Date; readonly isLeaseGood: boolean } | null
  /** Of workers that are alive and have the handler. */
  readonly liveWorkers: number
  readonly freeSlots: number
  /** Live workers of any handler. */
  readonly liveWorkersInAll: number
  /** Pending tasks that a claim takes before this one; counted up to a bound. */
  readonly tasksBefore: number
  readonly unconsumedSignals: readonly string[]
  readonly steps: readonly StepFacts[]
  /** Steps of the present attempt that are known to have begun and have left no result. */
  readonly begun: readonly string[]
}

export interface StepFacts {
  readonly key: string
  readonly isRetryable: boolean
  readonly refusals: number
  readonly dueAt: Date | null
  readonly doubtUntil: Date | null
}

/** "More than that" is all a person needs to know. */
const TASKS_BEFORE_MAX = 1_000

type Time = Date | string

interface WhyRow extends Omit<WhyFacts, 'claimedAt' | 'runAt' | 'worker' | 'steps'> {
  readonly claimedAt: Time | null
  readonly runAt: Time
  readonly worker: { readonly status: string; readonly lastHeartbeatAt: Time; readonly isLeaseGood: boolean } | null
  readonly steps: readonly (Omit<StepFacts, 'dueAt' | 'doubtUntil'> & {
    readonly dueAt: Time | null
    readonly doubtUntil: Time | null
  })[]
}

/** Null: there is no such task. */
export async function readWhy(db: Database, id: string): Promise<WhyFacts | null> {
  const rows = await db.run<WhyRow>(
    `with live as materialized (
       select handlers, greatest(0, concurrency - running) as free from foothold.workers
       where status = 'active' and lease_until > foothold.clock())
     select t.max_crashes as "crashesMax", t.crashes_total as "crashesTotal", t.suspect as "isSuspect", t.handler,
       t.cancel_reason as "cancelReason", t.claimed_at as "claimedAt", t.run_at as "runAt",
       (select json_build_object('status', w.status, 'lastHeartbeatAt', w.last_heartbeat_at,
                                 'isLeaseGood', w.status in ('active', 'draining') and w.lease_until > foothold.clock())
        from foothold.workers w where w.id = t.worker_id) as worker,
       (select count(*)::int from live where t.handler = any(handlers)) as "liveWorkers",
       (select coalesce(sum(free), 0)::int from live where t.handler = any(handlers)) as "freeSlots",
       (select count(*)::int from live) as "liveWorkersInAll",
       (select count(*)::int from (
          select 1 from foothold.tasks o
          where t.status = 'pending' and o.status = 'pending' and not o.suspect and o.handler = t.handler
            and (o.priority, o.run_at, o.id) < (t.priority, t.run_at, t.id) limit ${TASKS_BEFORE_MAX}) b) as "tasksBefore",
       array(select g.name from foothold.signals g where g.task_id = t.id and g.consumed_by is null order by g.id limit 20) as "unconsumedSignals",
       coalesce((select json_agg(json_build_object('key', s.key, 'isRetryable', s.retryable, 'refusals', s.refusals,
                                                   'dueAt', s.due_at, 'doubtUntil', s.doubt_until) order by s.started_at, s.key)
                 from foothold.agent_steps s where s.task_id = t.id), '[]') as steps,
       array(select distinct c.key from foothold.stream_chunks c
             where c.task_id = t.id and c.channel = '${STARTED_CHANNEL}' and c.attempt = t.attempt and t.status = 'processing'
               and not exists (select 1 from foothold.agent_steps s
                               where s.task_id = c.task_id and s.key = c.key and s.status in ('completed', 'unknown'))) as begun
     from foothold.tasks t where t.id = $1`,
    [id],
    { doing: 'asking why a task stands where it stands' },
  )
  const row = rows[0]
  if (row === undefined) return null
  const { worker, steps, claimedAt, runAt, ...rest } = row
  return {
    ...rest,
    runAt: new Date(runAt),
    claimedAt: claimedAt === null ? null : new Date(claimedAt),
    worker: worker === null ? null : { ...worker, lastHeartbeatAt: new Date(worker.lastHeartbeatAt) },
    steps: steps.map((step) => ({
      ...step,
      dueAt: step.dueAt === null ? null : new Date(step.dueAt),
      doubtUntil: step.doubtUntil === null ? null : new Date(step.doubtUntil),
    })),
  }
}

/** The stored errors of these tasks; one without an error is left out. */
export async function readErrors(
  db: Database,
  ids: readonly string[],
): Promise<ReadonlyMap<string, { readonly code: string; readonly message: string }>> {
  const rows = await db.run<{ id: string; error: string }>(
    `select task_id as id, error::text as error from foothold.task_payloads where task_id = any($1::uuid[]) and error is not null`,
    [ids],
    { doing: 'reading what stopped tasks' },
  )
  return new Map(
    rows.flatMap(({ id, error }) => {
      const stored = storedErrorOf(error)
      return stored === null ? [] : [[id, stored] as const]
    }),
  )
}
