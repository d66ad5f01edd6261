import type { Database } from './database.ts'

/**
 * Alerts and their groups. An alert is written with its dead letter; what follows may be late, repeated or done by
 * another worker without anything being lost.
 */

/** The alert of every row in `dead` (id, reason), for the statement that made them dead letters. */
export const INSERT_ALERTS: string = `
  insert_alert as (
    insert into foothold.alerts (task_id, attempt, agent, reason, at)
    select t.id, t.attempt, t.agent, dead.reason, foothold.clock() from dead join foothold.tasks t on t.id = dead.id
    on conflict do nothing)`

/** Bounds one statement's locks; what is left comes with the next round. */
const GROUPED_MAX = 1_000
/** A group that was quiet for so long takes no more: an edit of an old message rings nobody's phone. */
const QUIET = `interval '1 hour'`
/** Tasks on their way again may take days; by then the group has long been somebody's work and not an alarm. */
const UNDER_WAY_MAX = `interval '10 minutes'`
/** A lost RESOLVED is told later, but not for ever. */
const RESOLVED_KEPT = `interval '1 day'`

export interface AlertWork {
  readonly hasNew: boolean
  readonly hasLooks: boolean
  /** Of the given ones, those that have something to show. */
  readonly channels: readonly string[]
}

/** A dead letter `t`, or a task that waits for other code: it goes on where a person, or a deploy, lets it. */
export const STANDS = `(t.status = 'dead_letter' or t.status = 'waiting' and coalesce(t.waiting_for = 'code', false))`

/** What there is to do; the one statement of an idle round. */
export async function readAlertWork(db: Database, channels: readonly string[]): Promise<AlertWork> {
  const rows = await db.run<AlertWork>(
    `select exists (select 1 from foothold.alerts where group_id is null) as "hasNew",
       exists (select 1 from foothold.alert_groups where resolved_at is null and look_at <= foothold.clock()) as "hasLooks",
       array(select c.name from unnest($1::text[]) c(name) where exists (select 1 from ${dueDeliveries('c.name')})) as channels`,
    [channels],
    { doing: 'looking for alerts', patienceMs: 0 },
  )
  return rows[0] as AlertWork
}

/** Groups of which this channel has not shown the newest version, and may do so now. Ends in the where clause. */
export function dueDeliveries(channel: string): string {
  return `foothold.alert_groups g
    left join foothold.alert_deliveries d on d.group_id = g.id and d.channel = ${channel}
    where (g.resolved_at is null or g.resolved_at > foothold.clock() - ${RESOLVED_KEPT} and d.group_id is not null)
      and g.version > coalesce(d.version_shown, 0)
      and coalesce(greatest(d.due_at, d.lease_until) <= foothold.clock(), true)`
}

/**
 * GROUP: puts new alerts into the group of their agent and reason that takes alerts, or into a new one. Workers side by
 * side take different alerts and meet in the group's row. Returns how many were taken.
 */
export async function groupAlerts(db: Database, channels: readonly string[]): Promise<number> {
  await db.run(
    `update foothold.alert_groups set takes_alerts = false
     where takes_alerts and last_alert_at < foothold.clock() - ${QUIET}`,
    [],
    { doing: 'closing quiet groups of alerts', patienceMs: 0 },
  )
  const rows = await db.run<{ grouped: number }>(
    `with fresh as materialized (
       select task_id, attempt, agent, reason, at from foothold.alerts where group_id is null
       order by at limit $2 for no key update skip locked),
     g as (
       insert into foothold.alert_groups as g (agent, reason, opened_at, last_alert_at, look_at, changed_at)
       select agent, reason, min(at), max(at), foothold.clock(), foothold.clock() from fresh
       group by agent, reason order by agent, reason
       on conflict (agent, reason) where takes_alerts do update set
         seq = g.seq + 1, last_alert_at = greatest(g.last_alert_at, excluded.last_alert_at), changed_at = excluded.changed_at,
         look_at = least(g.look_at, excluded.look_at + interval '2 seconds')
       returning id, agent, reason),
     d as (
       insert into foothold.alert_deliveries (group_id, channel, due_at)
       select g.id, c.name, foothold.clock() from g cross join unnest($1::text[]) c(name)
       on conflict do nothing),
     grouped as (
       update foothold.alerts a set group_id = g.id from fresh f join g using (agent, reason)
       where a.task_id = f.task_id and a.attempt = f.attempt returning 1)
     select count(*)::int as grouped from grouped`,
    [channels, GROUPED_MAX],
    { doing: 'grouping alerts', patienceMs: 0 },
  )
  return rows[0]?.grouped ?? 0
}

export interface LookedAt {
  readonly id: string
  readonly agent: string
  readonly reason: string
  readonly tasks: number
  readonly standing: number
  readonly isResolved: boolean
}

/**
 * LOOK: counts where the tasks of open groups stand. A group is resolved when none stands in it any more and all
 * have ended, or are on their way for a while. An alert that came in meanwhile forbids the verdict: `seq` has grown.
 * What did not change for long is looked at more seldom, every 2 to 30 s.
 */
export async function lookAtGroups(db: Database): Promise<readonly LookedAt[]> {
  return db.run<LookedAt>(
    `with due as materialized (
       select id, seq from foothold.alert_groups where resolved_at is null and look_at <= foothold.clock()
       order by look_at limit 20),
     last as materialized (
       select distinct on (due.id, a.task_id) due.id, due.seq, a.task_id, a.attempt
       from due join foothold.alerts a on a.group_id = due.id order by due.id, a.task_id, a.attempt desc),
     counted as materialized (
       select l.id, l.seq, count(*)::int as tasks,
         count(*) filter (where ${STANDS} and t.attempt = l.attempt)::int as standing,
         count(*) filter (where t.status in ('pending', 'processing', 'waiting') and not ${STANDS})::int as under_way,
         count(*) filter (where t.status = 'completed')::int as completed,
         count(*) filter (where t.status = 'cancelled')::int as cancelled
       from last l left join foothold.tasks t on t.id = l.task_id group by l.id, l.seq),
     judged as materialized (
       select c.*, foothold.clock() as now from counted c)
     update foothold.alert_groups g set
       tasks = j.tasks, standing = j.standing, under_way = j.under_way, completed = j.completed, cancelled = j.cancelled,
       version = g.version + ${CHANGED}::int,
       changed_at = case when ${CHANGED} then j.now else g.changed_at end,
       all_left_at = case when j.standing = 0 then coalesce(g.all_left_at, j.now) end,
       resolved_at = case when ${RESOLVED} then j.now end,
       takes_alerts = g.takes_alerts and not ${RESOLVED},
       look_at = j.now + interval '1 ms' * least(30000, greatest(2000, j.tasks, extract(epoch from j.now - g.changed_at) * 100))
     from judged j
     where g.id = j.id and g.seq = j.seq and g.resolved_at is null and g.look_at <= foothold.clock()
     returning g.id::text as id, g.agent, g.reason, g.tasks, g.standing, g.resolved_at is not null as "isResolved"`,
    [],
    { doing: 'counting the tasks of alerts', patienceMs: 0 },
  )
}

const RESOLVED = `(j.standing = 0 and (j.under_way = 0 or coalesce(g.all_left_at < j.now - ${UNDER_WAY_MAX}, false)))`

const CHANGED = `((j.tasks, j.standing, j.under_way, j.completed, j.cancelled)
  is distinct from (g.tasks, g.standing, g.under_way, g.completed, g.cancelled) or g.version = 0 or ${RESOLVED})`
