import {
  CLAIMED,
  type Claim,
  type ClaimedId,
  type ClaimRequest,
  HANDLERS,
  isFree,
  isOurs,
  me,
  PAUSED,
  type Turn,
} from './claimable.ts'
import type { Database, RunOptions } from './database.ts'

/**
 * CLAIM IN TURN: under limits, and with tenants taking turns.
 * 1. `head`: as in the plain claim. `mine`: of tenants that have something pending, found by leaping from one to the next
 *    along tasks_turns, whatever a million tasks of one of them lie before it; only where the queue is longer than the
 *    slots. `laned`: what was set aside earlier, as much per lane as has room.
 * 2. Whose tenant runs the least comes first, after the priority; now and then age alone counts.
 * 3. take_lanes() locks the lanes of the candidates and counts what runs in a statement newer than the locks: two claims
 *    never see the same room. The count is of rows that are `processing`, so a crash frees its slots by the sweep that
 *    returns its tasks, and nothing can leak.
 *    Of the lanes it locks no more than it has slots, the most urgent ones.
 * 4. What does not fit is set aside in the lane of the limit that is full, out of the claim's index; what waits for other
 *    code stays where it is.
 * 5. A rate is kept as the times of the last starts on the limit's own row, under the same lock.
 */

/** How many lanes and tenants one claim looks at per handler; the next one goes on behind them. */
const LANES_MAX = 32
const TENANTS_MAX = 16
/** A suspect runs alone: it waits for room by time, not in a lane. */
const SUSPECT_PAUSE_MS = 5_000

interface Row {
  readonly claimed: readonly ClaimedId[]
  readonly setAside: number
  readonly isTurnNeeded: boolean
  readonly afterLane: string | null
  readonly afterTenant: string | null
}

export async function claimInTurn(
  db: Database,
  request: ClaimRequest,
  turn: Turn,
  options: RunOptions,
): Promise<Claim> {
  const { workerId, claimId, handlers, limit } = request
  const [row] = await db.run<Row>(
    inTurnText(request),
    [workerId, claimId, handlers, limit, turn.afterLane, turn.afterTenant],
    options,
  )
  const { claimed, setAside, isTurnNeeded, afterLane, afterTenant } = row as Row
  const next = { afterLane: afterLane ?? '', afterTenant: afterTenant ?? '' }
  return { claimed, setAside, nextTurn: isTurnNeeded ? next : null }
}

/** Leaps along an index: `next` gives the smallest value above another one. */
const leaps = (next: (after: string) => string, after: string, max: number): string => `
        with recursive r(value, n) as (
          select (${next(after)}), 1
          union all select (${next('r.value')}), n + 1 from r where r.value is not null and n < ${max})
        select value from r where value is not null`

const nextLane = (after: string): string => `
          select limited_by from foothold.tasks
          where status = 'waiting' and waiting_for = 'limit' and handler = h.handler and limited_by > ${after}
          order by limited_by limit 1`

const nextTenant = (after: string): string => `
          select tenant from foothold.tasks
          where status = 'pending' and not suspect and takes_turns and tenant <> '' and handler = h.handler
            and priority = p.priority and tenant > ${after}
          order by tenant limit 1`

/** The last of a window that was full: the next claim looks behind it. */
const behind = (from: string, value: string, by: string, max: number): string =>
  `(select min(last) from (select max(${value}) as last from ${from} group by ${by} having count(*) = ${max}) w)`

const COLUMNS = 'id, handler, tenant, limit_key, priority, run_at, status, suspect, limited_by'
const PRIORITIES = '(values (0), (1), (2)) p(priority)'
const LANES = 'foothold.lanes_of(handler, tenant, limit_key)'

function inTurnText({ oldestFirst, kind }: ClaimRequest): string {
  const isPending = kind === 'pending'
  const ours = `select ${COLUMNS} from foothold.tasks where ${isOurs(kind)} and ${isFree('tenant')}`
  // One head per priority: a sort by age of all of them would read the whole backlog.
  const head =
    oldestFirst && isPending
      ? `${PRIORITIES} cross join lateral (${ours} and priority = p.priority order by run_at, id limit $4 for no key update skip locked)`
      : `lateral (${ours} order by ${isPending ? 'priority, ' : ''}run_at, id limit $4 for no key update skip locked)`
  const tenantsTakeTurns = isPending && !oldestFirst
  return `
    with ${PAUSED}, ${me('')},
    head as materialized (
      select t.* from ${HANDLERS} cross join ${head} t limit ${oldestFirst && isPending ? '3 * $4' : '$4'}),
    tenants as materialized (
      select h.handler, p.priority, w.value as tenant, count(*) over () as n
      from ${HANDLERS} cross join ${PRIORITIES} cross join lateral (${leaps(nextTenant, '$6::text', TENANTS_MAX)}) w
      where ${tenantsTakeTurns} and (select count(*) >= $4 and bool_or(tenant <> '') from head)
        and p.priority <= (select max(priority) from head) and ${isFree('w.value')}),
    mine as materialized (
      select t.* from tenants h cross join lateral (
        ${ours} and takes_turns and tenant <> '' and priority = h.priority and tenant = h.tenant
        order by run_at, id limit least($4, ceil(2 * $4::numeric / h.n)) for no key update skip locked) t),
    lanes as materialized (
      select h.handler, w.value as lane, (
        select priority from foothold.tasks
        where status = 'waiting' and waiting_for = 'limit' and handler = h.handler and limited_by = w.value
        order by priority limit 1) as priority
      from ${HANDLERS} cross join lateral (${leaps(nextLane, '$5::text', LANES_MAX)}) w
      where ${isPending} and exists (select 1 from me)),
    lane_rooms as materialized (select * from foothold.take_lanes(
        array(select lane from lanes order by ${oldestFirst ? '' : 'priority, '}random()), $4::int)),
    laned as materialized (
      select t.* from lanes h left join lane_rooms r on r.lane = h.lane cross join ${PRIORITIES} cross join lateral (
        select ${COLUMNS} from foothold.tasks
        where status = 'waiting' and waiting_for = 'limit' and handler = h.handler and limited_by = h.lane
          and priority = p.priority and not suspect
        order by run_at, id limit least($4, coalesce(r.room, $4)) for no key update skip locked) t),
    candidates as materialized (
      select distinct on (id) * from (
        select * from head union all select * from mine union all select * from laned) u order by id),
    rooms as materialized (
      select * from foothold.take_lanes(array(select distinct l from candidates cross join lateral unnest(${LANES}) l
        where exists (select 1 from foothold.limits)), null)),
    running as materialized (
      select * from foothold.running_lanes() where (select count(*) from candidates) > $4),
    turns as (
      select c.*, coalesce(r.running, 0) + row_number() over (partition by tenant order by priority, run_at, id) as turn
      from candidates c left join running r on r.lane = 'tenant:' || c.tenant),
    placed as (
      select *, row_number() over (order by ${isPending && !oldestFirst ? 'priority, turn, ' : ''}run_at, id) as place from turns),
    ${fit('by_key', 'placed', `'key:' || limit_key`)},
    ${fit('by_tenant', 'by_key', `'tenant:' || nullif(tenant, '')`)},
    ${fit('by_agent', 'by_tenant', `'agent:' || split_part(handler, '@', 1)`)},
    verdicts as materialized (
      select id, status, suspect, limited_by, full_lane, not ${isFree('tenant')} as is_paused,
        row_number() over (partition by full_lane is null and ${isFree('tenant')} order by place) as n
      from by_agent),
    aside as (
      update foothold.tasks t set status = 'waiting', waiting_for = case when v.is_paused then 'pause' else 'limit' end,
        limited_by = case when not v.is_paused then v.full_lane end,
        wake_at = case when v.suspect then foothold.clock() + ${SUSPECT_PAUSE_MS} * interval '1 ms' end
      from verdicts v where t.id = v.id and t.id = any (array(
        select id from verdicts where ${kind !== 'refused'}
          and (is_paused or full_lane is not null and (status = 'pending' or full_lane is distinct from limited_by))))
      returning v.status),
    t as (
      update foothold.tasks t set ${CLAIMED}
      where t.id = any (array(select id from verdicts where not is_paused and full_lane is null and n <= $4))
      returning t.id, t.attempt, t.handler, t.tenant, t.limit_key),
    started as (
      update foothold.limits l set starts = array(
          select s from unnest(l.starts) s where s > foothold.clock() - l.period_ms * interval '1 ms') || array_fill(foothold.clock(), array[c.n])
      from (select lane, count(*)::int as n from t cross join lateral unnest(${LANES}) lane group by lane) c
      where l.rate is not null and l.kind || ':' || l.value = c.lane)
    select coalesce((select json_agg(json_build_object('id', id, 'attempt', attempt)) from t), '[]') as claimed,
      (select count(*)::int from aside where status = 'pending') as "setAside",
      exists (select 1 from foothold.limits) or exists (select 1 from lanes)
        or (select count(*) >= $4 and bool_or(tenant <> '') from head) as "isTurnNeeded",
      ${behind('lanes', 'lane', 'handler', LANES_MAX)} as "afterLane",
      ${behind('tenants', 'tenant', 'handler, priority', TENANTS_MAX)} as "afterTenant"`
}

/** In the order of their places, as many of a lane as have room; of those alone that fitted so far. */
function fit(name: string, from: string, lane: string): string {
  const before = from === 'placed' ? 'null::text' : 'c.full_lane'
  return `${name} as (
      select c.id, c.handler, c.tenant, c.limit_key, c.status, c.suspect, c.limited_by, c.place, coalesce(${before},
        case when row_number() over (partition by r.lane, ${before} is null order by c.place) > r.room then r.lane end) as full_lane
      from ${from} c left join rooms r on r.lane = ${lane})`
}
