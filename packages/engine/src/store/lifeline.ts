import type { LifelineSwitch } from '../protocol/foothold.ts'
import type { Database } from './database.ts'
import { DECLARED_LOST } from './workers.ts'

/**
 * The lifeline: an advisory lock that a worker's own session holds for as long as the process lives. PostgreSQL frees it
 * within milliseconds of the process's death, and when nothing was heard from the session for `LIFELINE_IDLE_MS` (a stopped
 * process, a lost node). It is a sign of life and no fence: taken shared, so that a worker that comes back never waits
 * for its own half-dead session; nobody takes it exclusively, lookouts read pg_locks.
 *
 * The texts run on sessions of the heartbeat's thread, where a statement needs no patience.
 */

/** The first half of the locks' keys; any number that no other code of the database locks. "foot", "fool". */
const LIFELINE_CLASS = 0x66_6f_6f_74
const LOOKOUT_CLASS = 0x66_6f_6f_6c
/** Enough for two to die at once; each costs ten short statements a second. */
const LOOKOUTS_MAX = 3
/** Five pings. A server's patience with a silent session, not a client's with a slow answer. */
export const LIFELINE_IDLE_MS = 5_000

export const LIMIT_IDLENESS: string = `set idle_session_timeout = ${LIFELINE_IDLE_MS}`

export const BACKEND_PID = 'select pg_backend_pid() as pid'

/** $1 worker. No row: there is no such worker any more. */
export const TAKE_LIFELINE: string = `
  select lifeline_no as no, pg_backend_pid() as pid, pg_advisory_lock_shared(${LIFELINE_CLASS}, lifeline_no)
  from foothold.workers where id = $1`

/** $1 lifeline_no: of the life before this one. */
export const LET_GO: string = `select pg_advisory_unlock_shared(${LIFELINE_CLASS}, $1::int)`

/** A row when this session is a lookout now. The limit stops the tries at the first that succeeds. */
export const BECOME_LOOKOUT: string = `
  select n from generate_series(1, ${LOOKOUTS_MAX}) n where pg_try_advisory_lock(${LOOKOUT_CLASS}, n) limit 1`

const HELD = `
  select objid::bigint as no from pg_locks
  where locktype = 'advisory' and classid = ${LIFELINE_CLASS} and objsubid = 2 and granted
    and database = (select oid from pg_database where datname = current_database())`

const IS_ON = `not exists (select 1 from foothold.switched_off where name = 'lifeline')`

/** Every worker that should be alive, and whether its lifeline is held. Nobody while it is switched off. */
export const LOOK: string = `
  with held as materialized (${HELD})
  select id, last_heartbeat_at::text as "heartbeatAt", exists (select 1 from held where held.no = w.lifeline_no) as "isHeld",
         has_lifeline as "hasLifeline"
  from foothold.workers w where status in ('active', 'draining') and ${IS_ON}`

export interface LookRow {
  readonly id: string
  /** To be compared, and given back to DECLARE_LOST as it is. */
  readonly heartbeatAt: string
  readonly isHeld: boolean
  /** By its own word. */
  readonly hasLifeline: boolean
}

/** SWITCH LIFELINE OFF. Off already: the first word stands, and with it since when and why. */
export async function storeLifelineOff(
  db: Database,
  { reason, by }: { readonly reason: string | null; readonly by: string | null },
): Promise<void> {
  await db.run(
    `insert into foothold.switched_off (name, since, reason, switched_by) values ('lifeline', foothold.clock(), $1, $2)
     on conflict (name) do nothing`,
    [reason, by],
    { doing: 'switching the lifeline off' },
  )
}

export async function removeLifelineOff(db: Database): Promise<void> {
  await db.run(`delete from foothold.switched_off where name = 'lifeline'`, [], { doing: 'switching the lifeline on' })
}

export async function readLifelineSwitch(db: Database): Promise<LifelineSwitch> {
  const [row] = await db.run<{ since: Date | string; reason: string | null; by: string | null }>(
    `select since, reason, switched_by as by from foothold.switched_off where name = 'lifeline'`,
    [],
    { doing: "reading the lifeline's switch" },
  )
  return row === undefined
    ? { isOn: true }
    : { isOn: false, since: new Date(row.since), reason: row.reason, by: row.by }
}

/** $1 worker, $2 the heartbeat that was its last one. No row: it has beaten since, or its lifeline is held again. */
export const DECLARE_LOST: string = `
  with d as materialized (
    select w.id, w.status from foothold.workers w
    where w.id = $1 and w.status in ('active', 'draining') and w.last_heartbeat_at = $2::timestamptz
      and not exists (select 1 from (${HELD}) held where held.no = w.lifeline_no) and ${IS_ON}
    for update skip locked)
  ${DECLARED_LOST}`
