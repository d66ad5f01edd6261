import type { Database } from './database.ts'
import { HAS_TENANT_PAUSES } from './pauses.ts'

/** Bounds one statement's locks. */
const PROMOTED_MAX = 500

export interface Promoted {
  readonly handlers: readonly string[]
  readonly count: number
  readonly nextInMs: number | null
  readonly hasTenantPauses: boolean
}

/**
 * PROMOTE: what waited and is due becomes pending, with its wait stored as over, so that no replay tests the clock a
 * second time. A wait that timed out has the value null. `nextInMs` is null when nothing waits for a time.
 */
export async function promoteTasks(db: Database): Promise<Promoted> {
  const rows = await db.run<Promoted>(
    `with c as materialized (
       select id from foothold.tasks where status = 'waiting' and wake_at <= foothold.clock()
       order by wake_at limit $1 for no key update skip locked),
     t as (
       update foothold.tasks t set status = 'pending', wake_at = null, waiting_for = null from c where t.id = c.id
       returning t.id, t.handler),
     s as (
       update foothold.agent_steps s set status = 'completed', output = 'null', due_at = null, finished_at = foothold.clock()
       from t where s.task_id = t.id and s.status = 'waiting' and s.due_at <= foothold.clock())
     select coalesce((select array_agg(distinct handler) from t), '{}') as handlers, (select count(*)::int from t) as count,
            (select ceil(extract(epoch from min(wake_at) - foothold.clock()) * 1000)::float8 from foothold.tasks
             where status = 'waiting' and wake_at > foothold.clock()) as "nextInMs",
            ${HAS_TENANT_PAUSES} as "hasTenantPauses"`,
    [PROMOTED_MAX],
    { doing: 'waking what is due', patienceMs: 0 },
  )
  return rows[0] as Promoted
}
