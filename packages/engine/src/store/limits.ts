import { EACH, type Limit, type LimitKind } from '../protocol/limits.ts'
import type { Database } from './database.ts'

/**
 * Limits: how much of an agent, a tenant or a key may run at once, and how much may start per period.
 * 1. Only the claim (store/claim-in-turn.ts) makes a task run, and it reads the limits in its own statement.
 * 2. What does not fit leaves the claim's index for its limit's lane, and is claimed out of the lane when there is room:
 *    no claim walks past a hundred thousand tasks of one key.
 */

/** Bounds one statement's locks. */
const MOVED_MAX = 500
/** How far into a queue a round looks for tasks to set aside. */
const HEAD_MAX = 2_000
/** Of all lanes together are counted: a list must not read a million rows. */
const WAITING_MAX = 100_000

interface LimitRow {
  readonly kind: LimitKind
  readonly value: string
  readonly concurrency: number | null
  readonly rate: number | null
  readonly periodMs: number | null
  readonly setAt: Date | string
  readonly by: string | null
  readonly running: number
  readonly waiting: number
}

const COLUMNS = `l.kind, l.value, l.concurrency, l.rate, l.period_ms as "periodMs", l.set_at as "setAt", l.set_by as "by"`

/** SET LIMIT: what stood there before is replaced; what has started counts on. */
export async function storeLimit(
  db: Database,
  limit: {
    readonly kind: LimitKind
    readonly value: string
    readonly concurrency: number | null
    readonly rate: number | null
    readonly periodMs: number | null
    readonly by: string | null
  },
): Promise<void> {
  await db.run(
    `insert into foothold.limits as l (kind, value, concurrency, rate, period_ms, set_at, set_by)
     values ($1, $2, $3, $4, $5, foothold.clock(), $6)
     on conflict (kind, value) do update set concurrency = excluded.concurrency, rate = excluded.rate,
       period_ms = excluded.period_ms, set_at = excluded.set_at, set_by = excluded.set_by`,
    [limit.kind, limit.value, limit.concurrency, limit.rate, limit.periodMs, limit.by],
    { doing: 'setting a limit' },
  )
}

/** REMOVE LIMIT. False: there was none. What was set aside for it is claimed out of its lane. */
export async function removeLimit(db: Database, kind: LimitKind, value: string): Promise<boolean> {
  const rows = await db.run(`delete from foothold.limits where kind = $1 and value = $2 returning 1`, [kind, value], {
    doing: 'removing a limit',
  })
  return rows.length > 0
}

export async function readLimits(db: Database): Promise<readonly Limit[]> {
  const rows = await db.run<LimitRow>(
    `with running as materialized (select * from foothold.running_lanes()),
     waiting as materialized (
       select limited_by, count(*)::int as n from (
         select limited_by from foothold.tasks where status = 'waiting' and waiting_for = 'limit' limit ${WAITING_MAX}) w
       group by limited_by)
     select ${COLUMNS}, coalesce(r.running, 0) as running, coalesce(w.n, 0) as waiting
     from foothold.limits l left join running r on r.lane = l.kind || ':' || l.value
       left join waiting w on w.limited_by = l.kind || ':' || l.value
     order by l.kind, l.value`,
    [],
    { doing: 'listing limits' },
  )
  return rows.map(limitOf)
}

function limitOf({ kind, value, concurrency, rate, periodMs, setAt, by, running, waiting }: LimitRow): Limit {
  const isEach = value === EACH
  return {
    kind,
    value,
    concurrency,
    rate: rate === null || periodMs === null ? null : { count: rate, periodMs },
    setAt: new Date(setAt),
    by,
    running: isEach ? null : running,
    waiting: isEach ? null : waiting,
  }
}

/**
 * SET ASIDE what has no room, from the head of this worker's queues. No lock: a task that could have run is claimed out of
 * its lane. Gives how many.
 */
export async function setLimitedAside(db: Database, workerId: string): Promise<number> {
  const [row] = await db.run<{ count: number }>(
    `with head as materialized (
       select t.* from foothold.workers w cross join lateral unnest(w.handlers) h(handler) cross join lateral (
         select id, foothold.lanes_of(handler, tenant, limit_key) as lanes from foothold.tasks
         where status = 'pending' and not suspect and handler = h.handler
         order by priority, run_at, id limit ${HEAD_MAX}) t
       where w.id = $1),
     running as materialized (select * from foothold.running_lanes()),
     full_lanes as materialized (
       select d.lane from (select distinct u.lane from head cross join lateral unnest(head.lanes) u(lane)) d
         left join running r on r.lane = d.lane
       where foothold.lane_room(d.lane, coalesce(r.running, 0)) <= 0),
     c as materialized (
       select distinct on (head.id) head.id, f.lane from head join full_lanes f on f.lane = any (head.lanes)
       order by head.id limit ${MOVED_MAX}),
     l as materialized (
       select id from foothold.tasks where id in (select id from c) and status = 'pending' order by id for no key update skip locked),
     t as (
       update foothold.tasks t set status = 'waiting', waiting_for = 'limit', limited_by = c.lane, wake_at = null
       from l join c using (id) where t.id = l.id returning 1)
     select count(*)::int as count from t`,
    [workerId],
    { doing: 'setting limited tasks aside', patienceMs: 0 },
  )
  return row?.count ?? 0
}
