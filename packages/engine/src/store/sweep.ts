import type { Database } from './database.ts'
import { WITH_DEAD_LETTERS } from './settle.ts'

/**
 * SWEEP alone takes tasks from workers: those processing under a worker that is lost, stopped or missing. Candidates are
 * read first with their fence, then exactly those rows are locked by it, so that a task claimed anew in between is never
 * taken, and one held row blocks nobody.
 */

export interface Swept {
  readonly id: string
  readonly agent: string
  readonly handler: string
  readonly outcome: 'pending' | 'dead_letter' | 'cancelled'
  readonly workerId: string
  readonly crashCount: number
}

interface Candidate {
  readonly id: string
  readonly attempt: number
  readonly workerId: string
  readonly isCrash: boolean
  readonly isAlone: boolean
  readonly hasProgress: boolean
  readonly detail: string
}

/** Bounds one statement's locks; what is left comes with the next round. */
const CANDIDATES_MAX = 200
/** Whatever progress lies between them: a task that cost ten workers their life is not tried an eleventh time. */
const CRASHES_TOTAL_MAX = 10

export async function sweepTasks(db: Database): Promise<{ swept: readonly Swept[]; followUps: readonly string[] }> {
  const candidates = await readCandidates(db)
  if (candidates.length === 0) return { swept: [], followUps: [] }
  return takeCandidates(db, candidates)
}

/** A worker that dies while draining costs a handover, not a crash; a stored step since the claim forgives earlier ones. */
export async function readCandidates(db: Database): Promise<readonly Candidate[]> {
  return db.run<Candidate>(
    `select t.id, t.attempt, t.worker_id as "workerId",
            coalesce(w.lost_while, 'active') = 'active' and coalesce(w.status, 'lost') = 'lost' as "isCrash",
            coalesce(w.lost_running, (select count(*) from foothold.tasks o where o.worker_id = t.worker_id and o.status = 'processing')) <= 1 as "isAlone",
            exists (select 1 from foothold.agent_steps s where s.task_id = t.id and s.attempt = t.attempt and s.status = 'completed') as "hasProgress",
            'worker ' || t.worker_id || case when w.id is null then ' is not registered'
              when w.status = 'stopped' then ' stopped without handing over'
              else ' was lost while ' || coalesce(w.lost_while, 'active') end
            || coalesce(', after step ' || (select s.key from foothold.agent_steps s where s.task_id = t.id and s.status = 'completed'
                                            order by s.finished_at desc limit 1), ', before any step was stored') as detail
     from foothold.tasks t left join foothold.workers w on w.id = t.worker_id
     where t.status = 'processing' and (w.id is null or w.status in ('lost', 'stopped'))
     order by t.id limit $1`,
    [CANDIDATES_MAX],
    { doing: 'looking for orphans', patienceMs: 0 },
  )
}

export async function takeCandidates(
  db: Database,
  candidates: readonly Candidate[],
): Promise<{ swept: readonly Swept[]; followUps: readonly string[] }> {
  const rows = await db.run<{ swept: Swept[]; followUps: string[] }>(
    `with v as materialized (
       select * from unnest($1::uuid[], $2::int[], $3::text[], $4::boolean[], $5::boolean[], $6::boolean[], $7::text[])
         v(id, attempt, worker_id, is_crash, is_alone, has_progress, detail)),
     l as materialized (
       select t.id, t.attempt, t.worker_id, t.crash_count, t.crashes_total, t.max_crashes, t.cancel_requested_at is not null as is_cancelled
       from foothold.tasks t
       where t.id = any($1::uuid[]) and t.status = 'processing' and (t.id, t.attempt, t.worker_id) in (select id, attempt, worker_id from v)
       order by t.id for no key update skip locked),
     counted as materialized (
       select l.*, v.is_crash, v.detail,
         case when not v.is_crash then l.crash_count
              when v.is_alone then b.base + 1
              else greatest(b.base, least(b.base + 1, l.max_crashes - 1)) end as new_crash_count
       from l join v using (id, attempt, worker_id)
         cross join lateral (select case when v.has_progress then 0 else l.crash_count end as base) b),
     decided as materialized (
       select *, case when is_cancelled then 'cancelled'
                      when is_crash and (new_crash_count >= max_crashes or crashes_total + 1 >= $8) then 'dead_letter'
                      else 'pending' end as outcome
       from counted),
     t as (
       update foothold.tasks t set status = d.outcome, worker_id = null, claim_id = null,
         crash_count = d.new_crash_count, crashes_total = t.crashes_total + d.is_crash::int,
         handover_count = t.handover_count + (not d.is_crash)::int,
         suspect = t.suspect or d.new_crash_count >= 2,
         last_reason = case when d.outcome = 'cancelled' then 'cancelled' else 'orphaned' end,
         finished_at = case when d.outcome = 'pending' then null else foothold.clock() end
       from decided d where t.id = d.id
       returning t.id, t.attempt, t.agent, t.handler, t.claimed_at, d.worker_id, d.outcome, d.detail, d.new_crash_count),
     a as (
       insert into foothold.attempts (task_id, attempt, worker_id, started_at, ended_at, outcome, reason, detail)
       select id, attempt, worker_id, claimed_at, foothold.clock(),
              case outcome when 'pending' then 'orphaned' else outcome end,
              case outcome when 'cancelled' then 'cancelled' else 'orphaned' end, detail from t
       on conflict do nothing),
     dead as (
       select id, 'orphaned'::text as reason,
              json_build_object('code', 'ORPHANED', 'message', 'The task cost its worker its life ' || new_crash_count || ' times: ' || detail) as error
       from t where outcome = 'dead_letter'),
     p as (update foothold.task_payloads p set error = dead.error from dead where p.task_id = dead.id),
     ${WITH_DEAD_LETTERS}
     select coalesce(json_agg(json_build_object('id', id, 'agent', agent, 'handler', handler, 'outcome', outcome, 'workerId', worker_id, 'crashCount', new_crash_count)), '[]') as swept,
            coalesce((select array_agg(handler) from insert_follow_up), '{}') as "followUps"
     from t`,
    [
      candidates.map((c) => c.id),
      candidates.map((c) => c.attempt),
      candidates.map((c) => c.workerId),
      candidates.map((c) => c.isCrash),
      candidates.map((c) => c.isAlone),
      candidates.map((c) => c.hasProgress),
      candidates.map((c) => c.detail),
      CRASHES_TOTAL_MAX,
    ],
    { doing: 'returning orphans', patienceMs: 0 },
  )
  return rows[0] as { swept: Swept[]; followUps: string[] }
}
