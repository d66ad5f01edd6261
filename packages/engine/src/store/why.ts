import type { TaskFacts } from '../protocol/explain/task-facts.ts'
import type { TaskStatus } from '../protocol/views.ts'
import type { Database } from './database.ts'
import { type PauseRow, pauseOf, pausesOf } from './pauses.ts'
import { dateOrNull, decodeOrNull, storedErrorOf } from './task-rows.ts'
import { STARTED_CHANNEL } from './watch-tasks.ts'

/** "More than that" is all a person needs to know. */
const TASKS_BEFORE_MAX = 1_000
/** Among so many of the newest tasks the last success of an agent is looked for: `completed` has no index. */
const NEWEST_MAX = 1_000
const RELEASES_MAX = 50
const KNOWN_BY_MAX = 3

type Time = Date | string

/** JSON carries times as text. */
interface FactsRow
  extends Omit<
    TaskFacts,
    'now' | 'claimedAt' | 'runAt' | 'failedStep' | 'worker' | 'pauses' | 'begun' | 'steps' | 'releases' | 'knownBy'
  > {
  readonly now: Time
  readonly claimedAt: Time | null
  readonly runAt: Time
  readonly error: string | null
  readonly worker: { readonly status: string; readonly lastHeartbeatAt: Time; readonly isLeaseGood: boolean } | null
  readonly steps: readonly (Omit<TaskFacts['steps'][number], 'dueAt' | 'doubtUntil' | 'keyUntil'> & {
    readonly dueAt: Time | null
    readonly doubtUntil: Time | null
    readonly keyUntil: Time | null
  })[]
  readonly pauses: readonly PauseRow[]
  readonly knownBy: readonly { readonly release: string; readonly lastSeenAt: Time }[]
  readonly begun: readonly { readonly key: string; readonly isInThisAttempt: boolean; readonly at: Time }[]
  readonly releasesOfAttempts: readonly { readonly attempt: number; readonly release: string }[]
  readonly releasesSeen: readonly { readonly release: string; readonly at: Time }[]
  readonly successes: readonly { readonly release: string; readonly lastAt: Time }[]
  readonly followUp: { readonly id: string; readonly status: TaskStatus } | null
}

/** Null: there is no such task. */
export async function readTaskFacts(db: Database, id: string): Promise<TaskFacts | null> {
  const rows = await db.run<FactsRow>(
    `with alive as materialized (
       select handlers, greatest(0, concurrency - running) as free, release,
         exists (select 1 from foothold.pauses p where p.kind = 'release' and p.value = w.release) as is_paused
       from foothold.workers w where status = 'active' and lease_until > foothold.clock()),
     live as materialized (
       select handlers, free from alive, foothold.tasks t
       where t.id = $1 and not is_paused and (t.waiting_for = 'code' and release = any(t.refused_by)) is not true)
     select foothold.clock() as now, t.max_crashes as "crashesMax", t.crashes_total as "crashesTotal", t.suspect as "isSuspect", t.handler,
       t.cancel_reason as "cancelReason", t.claimed_at as "claimedAt", t.run_at as "runAt", t.limited_by as "limitedBy", t.deadline_ms is null as "isDeadlineFixed",
       (select p.error::text from foothold.task_payloads p where p.task_id = t.id) as error,
       (select json_build_object('status', w.status, 'lastHeartbeatAt', w.last_heartbeat_at,
                                 'isLeaseGood', w.status in ('active', 'draining') and w.lease_until > foothold.clock())
        from foothold.workers w where w.id = t.worker_id) as worker,
       (select count(*)::int from live where t.handler = any(handlers)) as "liveWorkers",
       (select coalesce(sum(free), 0)::int from live where t.handler = any(handlers)) as "freeSlots",
       (select count(*)::int from alive) as "liveWorkersInAll",
       coalesce((select json_agg(h) from (${pausesOf({ handler: 't.handler', tenant: 't.tenant' })} order by kind) h), '[]') as pauses,
       coalesce(t.refused_by, '{}') as "refusedBy",
       coalesce((select json_agg(k) from (
          select release, max(last_heartbeat_at) as "lastSeenAt" from foothold.workers
          where t.status = 'pending' and t.handler = any(handlers) and not exists (select 1 from live l where t.handler = any(l.handlers))
          group by release order by 2 desc limit ${KNOWN_BY_MAX}) k), '[]') as "knownBy",
       array(select distinct release from alive where is_paused and t.handler = any(handlers) order by release) as "pausedReleases",
       (select count(*)::int from (
          select 1 from foothold.tasks o
          where t.status = 'pending' and o.status = 'pending' and not o.suspect and o.handler = t.handler
            and (o.priority, o.run_at, o.id) < (t.priority, t.run_at, t.id) limit ${TASKS_BEFORE_MAX}) b) as "tasksBefore",
       array(select g.name from foothold.signals g where g.task_id = t.id and g.consumed_by is null order by g.id limit 20) as "unconsumedSignals",
       coalesce((select json_agg(json_build_object('key', s.key, 'isRetryable', s.retryable, 'refusals', s.refusals,
                                                   'dueAt', s.due_at, 'doubtUntil', s.doubt_until,
                                                   'onDoubt', s.on_doubt, 'keyUntil', s.key_until) order by s.started_at, s.key)
                 from foothold.agent_steps s where s.task_id = t.id), '[]') as steps,
       coalesce((select json_agg(json_build_object('key', b.key, 'isInThisAttempt', b.attempt = t.attempt and t.status = 'processing', 'at', b.at) order by b.first)
                 from (select c.key, max(c.attempt) as attempt, min(c.id) as first, min(c.created_at) as at from foothold.stream_chunks c
                       where c.task_id = t.id and c.channel = '${STARTED_CHANNEL}' and t.status not in ('completed', 'cancelled')
                         and not exists (select 1 from foothold.agent_steps s
                                         where s.task_id = c.task_id and s.key = c.key and s.status in ('completed', 'unknown'))
                       group by c.key) b), '[]') as begun,
       coalesce((select json_agg(json_build_object('attempt', a.attempt, 'release', w.release))
                 from (select attempt, worker_id from foothold.attempts where task_id = t.id
                       union all select t.attempt, t.worker_id where t.worker_id is not null) a
                 join foothold.workers w on w.id = a.worker_id), '[]') as "releasesOfAttempts",
       coalesce((select json_agg(r) from (
          select release, min(started_at) as at from foothold.workers group by release order by max(started_at) desc limit ${RELEASES_MAX}) r), '[]') as "releasesSeen",
       coalesce((select json_agg(r) from (
          select w.release, max(a.ended_at) as "lastAt"
          from (select id, agent, attempt, status from foothold.tasks order by id desc limit ${NEWEST_MAX}) n
            join foothold.attempts a on a.task_id = n.id and a.attempt = n.attempt join foothold.workers w on w.id = a.worker_id
          where n.agent = t.agent and n.status = 'completed' group by w.release) r), '[]') as successes,
       (select json_build_object('id', f.id, 'status', f.status) from foothold.tasks f
        where f.parent_id = t.id and f.parent_key is null order by f.id desc limit 1) as "followUp"
     from foothold.tasks t where t.id = $1`,
    [id],
    { doing: 'asking why a task stands where it stands' },
  )
  return rows[0] === undefined ? null : factsOf(rows[0])
}

function factsOf(row: FactsRow): TaskFacts {
  const { worker, steps, pauses, begun, knownBy, error, releasesOfAttempts, releasesSeen, successes, ...rest } = row
  return {
    ...rest,
    now: new Date(row.now),
    runAt: new Date(row.runAt),
    claimedAt: dateOrNull(row.claimedAt),
    failedStep: stepBlamedBy(error),
    worker: worker === null ? null : { ...worker, lastHeartbeatAt: new Date(worker.lastHeartbeatAt) },
    pauses: pauses.map(pauseOf),
    knownBy: knownBy.map(({ release, lastSeenAt }) => ({ release, lastSeenAt: new Date(lastSeenAt) })),
    begun: begun.map((step) => ({ ...step, at: new Date(step.at) })),
    steps: steps.map((step) => ({
      ...step,
      dueAt: dateOrNull(step.dueAt),
      doubtUntil: dateOrNull(step.doubtUntil),
      keyUntil: dateOrNull(step.keyUntil),
    })),
    releases: {
      ofAttempts: releasesOfAttempts,
      firstSeen: releasesSeen.map(({ release, at }) => ({ release, at: new Date(at) })),
      successes: successes.map(({ release, lastAt }) => ({ release, lastAt: new Date(lastAt) })),
    },
  }
}

function stepBlamedBy(error: string | null): string | null {
  const step = (decodeOrNull(error) as { readonly step?: unknown } | null)?.step
  return typeof step === 'string' ? step : null
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
