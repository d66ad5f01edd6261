import type { Database } from './database.ts'

/**
 * Pending tasks that no live worker can run: of a version that was rolled back, or whose last worker went away. They cost
 * nobody anything and wait as they are; on-call is told, once per handler, in a group of alerts of its own that has no
 * tasks but a count. It is resolved when a worker with the handler is alive, or nothing is pending for it any more.
 */

/** Beside the reasons of dead letters; its group names the handler in place of the agent. */
export const HANDLER_UNKNOWN = 'handler_unknown'

/** Since the last worker that had it was seen, or the oldest task came: a rolling deploy has passed by then. */
const UNKNOWN_FOR = `interval '60 seconds'`
/** "More than that" is all a person needs to know. */
const COUNTED_MAX = 1_000
/** A count that moves is no news; that the group is still open is. */
const REFRESHED_EVERY = `interval '5 minutes'`

/** Jumps along tasks_pending from handler to handler: a million pending rows of one cost one step. */
const PENDING_HANDLERS = `
  pending(handler) as (
    (select handler from foothold.tasks where status = 'pending' and not suspect order by handler limit 1)
    union all
    select (select t.handler from foothold.tasks t where t.status = 'pending' and not t.suspect and t.handler > p.handler
            order by t.handler limit 1)
    from pending p where p.handler is not null)`

export interface HandlerAlert {
  readonly group: string
  readonly handler: string
  readonly pending: number
  readonly since: Date | string
  readonly state: 'raised' | 'stands' | 'resolved'
}

/** Only what has changed, or is to be shown anew. Workers side by side meet in the group's row. */
export async function lookAtHandlers(db: Database, channels: readonly string[]): Promise<readonly HandlerAlert[]> {
  return db.run<HandlerAlert>(
    `with recursive ${PENDING_HANDLERS},
     live as materialized (
       select handlers from foothold.workers where status = 'active' and lease_until > foothold.clock()),
     unknown as materialized (
       select p.handler, n.pending, greatest(n.oldest, s.seen) as since
       from pending p
         cross join lateral (
           select count(*)::int as pending, min(run_at) as oldest from (
             select run_at from foothold.tasks t where t.status = 'pending' and not t.suspect and t.handler = p.handler
             order by t.priority, t.run_at limit ${COUNTED_MAX}) c) n
         cross join lateral (
           select max(w.last_heartbeat_at) as seen from foothold.workers w where p.handler = any(w.handlers)) s
       where p.handler is not null and not exists (select 1 from live where p.handler = any(live.handlers))
         and not exists (select 1 from foothold.pauses u where u.kind = 'agent' and u.value = split_part(p.handler, '@', 1))),
     raised as (
       insert into foothold.alert_groups as g (agent, reason, opened_at, last_alert_at, look_at, changed_at, version, tasks, standing)
       select handler, '${HANDLER_UNKNOWN}', since, foothold.clock(), 'infinity', foothold.clock(), 1, pending, pending
       from unknown where since < foothold.clock() - ${UNKNOWN_FOR} order by handler
       on conflict (agent, reason) where takes_alerts do update set
         last_alert_at = excluded.last_alert_at, changed_at = excluded.changed_at, version = g.version + 1,
         tasks = greatest(g.tasks, excluded.tasks), standing = excluded.standing
         where g.changed_at < excluded.changed_at - ${REFRESHED_EVERY} and g.standing <> excluded.standing
           or g.last_alert_at < excluded.last_alert_at - ${REFRESHED_EVERY}
       returning id, agent, standing, opened_at, version),
     d as (
       insert into foothold.alert_deliveries (group_id, channel, due_at)
       select r.id, c.name, foothold.clock() from raised r cross join unnest($1::text[]) c(name)
       on conflict do nothing),
     resolved as (
       update foothold.alert_groups g set resolved_at = foothold.clock(), changed_at = foothold.clock(), standing = 0,
         takes_alerts = false, version = g.version + 1
       where g.reason = '${HANDLER_UNKNOWN}' and g.resolved_at is null
         and not exists (select 1 from unknown u where u.handler = g.agent)
       returning id, agent, tasks, opened_at)
     select id::text as "group", agent as handler, standing as pending, opened_at as since,
       case version when 1 then 'raised' else 'stands' end as state from raised
     union all select id::text, agent, tasks, opened_at, 'resolved' from resolved`,
    [channels],
    { doing: 'looking for handlers that no live worker knows', patienceMs: 0 },
  )
}
