import type { RetentionDays } from '../protocol/retention.ts'
import type { Database } from './database.ts'

/**
 * PRUNE: what has ended is removed after its time, page by page.
 * 1. Each statement looks at a bounded number of rows, in the order of an index, and removes those of them whose time is
 *    over: all of a task in one statement, so that a crash leaves nothing half.
 * 2. The rows are locked `skip locked` and judged again under the lock: a task that is being restarted stays.
 * 3. A dedupe key goes by its own time and by nothing else: its task may be long gone while its source still redelivers.
 *    The key of a task that has not ended is renewed a day before its time, for no other statement looks at the task.
 */

export interface Page {
  /** Where the next page begins; null: this was the last one. */
  readonly next: string | null
  readonly removed: number
}

export interface PageRequest {
  readonly after: string | null
  readonly days: RetentionDays
  /** Counts, and removes nothing. */
  readonly isDryRun: boolean
}

const TASKS_MAX = 200
const CHUNKS_MAX = 1_000
const KEYS_MAX = 500
const OTHERS_MAX = 200

/** Ids begin with the time at which they were made, by clocks that may differ a little. */
const CLOCKS_DIFFER = `interval '1 day'`

/** Null days: never. */
const isOver = (column: string, days: string): string =>
  `${column} <= foothold.clock() - ${days}::float8 * interval '1 day'`

const orNull = (days: number): number | null => (days === Infinity ? null : days)

const OF_TASKS = ['task_payloads', 'agent_steps', 'attempts', 'signals', 'stream_chunks', 'alerts']

/** Pages go by id, which is by age: what is kept for long is walked past. */
export async function pruneTasks(db: Database, { after, days, isDryRun }: PageRequest): Promise<Page> {
  const isRemovable = `(
    t.status in ('completed', 'cancelled') and ${isOver('t.finished_at', '$2')}
    or t.status = 'dead_letter' and ${isOver('t.finished_at', '$3')})`
  const rows = await db.run<Page>(
    `with page as materialized (
       select id, parent_id from foothold.tasks
       where id > coalesce($1::uuid, '00000000-0000-0000-0000-000000000000')
         and id < ${idAt(`foothold.clock() - least($2::float8, $3::float8) * interval '1 day' + ${CLOCKS_DIFFER}`)}
       order by id limit ${TASKS_MAX}),
     l as materialized (
       select t.id from foothold.tasks t join page on page.id = t.id
       where ${isRemovable} and not exists (
         select 1 from foothold.tasks p where p.id = page.parent_id and p.status not in ('completed', 'cancelled'))
       order by t.id ${isDryRun ? '' : 'for update of t skip locked'})
     ${isDryRun ? '' : OF_TASKS.map((table) => `, ${table} as (delete from foothold.${table} x using l where x.task_id = l.id)`).join('')}
     ${isDryRun ? '' : ', gone as (delete from foothold.tasks t using l where t.id = l.id)'}
     select (select count(*)::int from l) as removed,
       (select case when count(*) = ${TASKS_MAX} then max(id::text) end from page) as next`,
    [after, orNull(days.endedDays), orNull(days.deadLetterDays)],
    { doing: 'pruning tasks', patienceMs: 0 },
  )
  return rows[0] as Page
}

/** For SQL: below it are the ids that were made before. */
const idAt = (time: string): string =>
  `(lpad(to_hex(greatest(0, extract(epoch from ${time}) * 1000)::bigint), 12, '0') || repeat('0', 20))::uuid`

/** Of completed and cancelled tasks; a dead letter keeps its own, which tell what had begun. */
export async function pruneChunks(db: Database, { after, days, isDryRun }: PageRequest): Promise<Page> {
  const rows = await db.run<Page>(
    `with page as materialized (
       select id, task_id, ${isOver('created_at', '$2')} as is_old from foothold.stream_chunks
       where id > coalesce($1::bigint, 0) order by id limit ${CHUNKS_MAX}),
     c as materialized (
       select page.id from page left join foothold.tasks t on t.id = page.task_id
       where page.is_old and (t.id is null or t.status in ('completed', 'cancelled') and ${isOver('t.finished_at', '$2')}))
     ${isDryRun ? '' : ', gone as (delete from foothold.stream_chunks x using c where x.id = c.id)'}
     select (select count(*)::int from c) as removed,
       (select case when count(*) = ${CHUNKS_MAX} and bool_and(is_old) then max(id)::text end from page) as next`,
    [after, orNull(days.chunkDays)],
    { doing: 'pruning stream chunks', patienceMs: 0 },
  )
  return rows[0] as Page
}

/** `next` is the last key's place in the order of the index. */
export async function pruneDedupeKeys(db: Database, { after, isDryRun }: PageRequest): Promise<Page> {
  const rows = await db.run<Page>(
    `with page as materialized (
       select agent, tenant, key, task_id, expires_at from foothold.dedupe
       where expires_at <= foothold.clock() + interval '1 day'
         and ($1::json is null or (expires_at, agent, tenant, key)
           > (($1::json ->> 0)::timestamptz, $1::json ->> 1, $1::json ->> 2, $1::json ->> 3))
       order by expires_at, agent, tenant, key limit ${KEYS_MAX}),
     l as materialized (
       select k.agent, k.tenant, k.key, k.expires_at, t.id is not null as is_open
       from foothold.dedupe k join page using (agent, tenant, key)
       left join foothold.tasks t on t.id = page.task_id and t.status not in ('completed', 'cancelled')
       where k.expires_at <= foothold.clock() + interval '1 day'
       order by k.agent, k.tenant, k.key ${isDryRun ? '' : 'for update of k skip locked'}),
     over as materialized (select * from l where not is_open and expires_at <= foothold.clock())
     ${
       isDryRun
         ? ''
         : `, renewed as (
       update foothold.dedupe k set expires_at = foothold.clock() + interval '2 days'
       from l where l.is_open and (k.agent, k.tenant, k.key) = (l.agent, l.tenant, l.key)),
     gone as (delete from foothold.dedupe k using over where (k.agent, k.tenant, k.key) = (over.agent, over.tenant, over.key))`
     }
     select (select count(*)::int from over) as removed,
       (select json_build_array(expires_at, agent, tenant, key)::text from page
        order by expires_at desc, agent desc, tenant desc, key desc
        limit case when (select count(*) from page) = ${KEYS_MAX} then 1 else 0 end) as next`,
    [after],
    { doing: 'pruning dedupe keys', patienceMs: 0 },
  )
  return rows[0] as Page
}

/** A few rows for each restart: one page at a time is enough. */
export async function pruneWorkers(db: Database, { days, isDryRun }: PageRequest): Promise<Page> {
  const rows = await db.run<Page>(
    `with l as materialized (
       select id from foothold.workers w
       where status in ('stopped', 'lost') and ${isOver('last_heartbeat_at', '$1')}
         and not exists (select 1 from foothold.tasks t where t.worker_id = w.id and t.status = 'processing')
       order by id ${isDryRun ? '' : `limit ${OTHERS_MAX} for update skip locked`})
     ${isDryRun ? '' : ', gone as (delete from foothold.workers w using l where w.id = l.id)'}
     select count(*)::int as removed, case when count(*) = ${OTHERS_MAX} and not $2 then '' end as next from l`,
    [orNull(days.workerDays), isDryRun],
    { doing: 'pruning workers', patienceMs: 0 },
  )
  return rows[0] as Page
}

/** A group goes when it was resolved that long ago and the last of its tasks has gone. */
export async function pruneAlertGroups(db: Database, { days, isDryRun }: PageRequest): Promise<Page> {
  const rows = await db.run<Page>(
    `with l as materialized (
       select id from foothold.alert_groups g
       where ${isOver('resolved_at', '$1')} and not exists (select 1 from foothold.alerts a where a.group_id = g.id)
       order by id ${isDryRun ? '' : `limit ${OTHERS_MAX} for update skip locked`})
     ${
       isDryRun
         ? ''
         : `, shown as (delete from foothold.alert_deliveries d using l where d.group_id = l.id),
     gone as (delete from foothold.alert_groups g using l where g.id = l.id)`
     }
     select count(*)::int as removed, case when count(*) = ${OTHERS_MAX} and not $2 then '' end as next from l`,
    [orNull(days.endedDays), isDryRun],
    { doing: 'pruning groups of alerts', patienceMs: 0 },
  )
  return rows[0] as Page
}
