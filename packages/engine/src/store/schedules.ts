import { decode } from '../protocol/codec.ts'
import type { CatchUp, Overlap, Schedule } from '../protocol/schedules.ts'
import { PRIORITIES } from '../protocol/views.ts'
import type { Database } from './database.ts'
import { DEDUPE_DAYS } from './submit.ts'

/**
 * Schedules.
 * 1. FIRE moves a row on and makes its tasks in one statement, fenced by `seq`: whatever dies before, between or after,
 *    a tick has its task and the row stands behind it, or neither.
 * 2. A tick's dedupe key `schedule:<name>@<tick>` holds what `seq` cannot: a clock that was set back, a schedule that was
 *    removed and set again within its tick.
 */

export interface ScheduleWrite {
  readonly name: string
  readonly agent: string
  readonly tenant: string
  /** 0 is the most urgent. */
  readonly priority: number
  /** JSON text. */
  readonly input: string
  readonly cron: string
  readonly timeZone: string
  readonly catchUp: CatchUp
  readonly overlap: Overlap
  readonly nextAt: Date
}

/** SET SCHEDULE. The same again changes nothing; another cron or zone begins anew, all else leaves the next tick alone. */
export async function storeSchedule(db: Database, schedule: ScheduleWrite): Promise<void> {
  await db.run(
    `insert into foothold.schedules as s
       (name, agent, tenant, priority, input, cron, time_zone, catch_up, overlap, next_at, moved_at, created_at)
     values ($1, $2, $3, $4, $5::json, $6, $7, $8, $9, $10::timestamptz, foothold.clock(), foothold.clock())
     on conflict (name) do update set
       agent = excluded.agent, tenant = excluded.tenant, priority = excluded.priority, input = excluded.input,
       cron = excluded.cron, time_zone = excluded.time_zone, catch_up = excluded.catch_up, overlap = excluded.overlap,
       next_at = case when (s.cron, s.time_zone) = (excluded.cron, excluded.time_zone) then s.next_at else excluded.next_at end,
       moved_at = excluded.moved_at, seq = s.seq + 1
     where (s.agent, s.tenant, s.priority, s.input::text, s.cron, s.time_zone, s.catch_up, s.overlap)
       is distinct from (excluded.agent, excluded.tenant, excluded.priority, excluded.input::text, excluded.cron,
                         excluded.time_zone, excluded.catch_up, excluded.overlap)`,
    [
      schedule.name,
      schedule.agent,
      schedule.tenant,
      schedule.priority,
      schedule.input,
      schedule.cron,
      schedule.timeZone,
      schedule.catchUp,
      schedule.overlap,
      schedule.nextAt.toISOString(),
    ],
    { doing: 'setting a schedule' },
  )
}

/** All of them, or the one of this name. */
export async function readSchedules(db: Database, name: string | null = null): Promise<readonly Schedule[]> {
  const rows = await db.run<Omit<Schedule, 'priority'> & { readonly priority: number; readonly input: string }>(
    `select name, agent, input::text as input, cron, time_zone as "timeZone", catch_up as "catchUp", overlap,
       nullif(tenant, '') as tenant, priority, is_paused as "isPaused", next_at as "nextAt",
       last_tick_at as "lastTickAt", last_task_id as "lastTaskId"
     from foothold.schedules where $1::text is null or name = $1 order by name`,
    [name],
    { doing: 'reading schedules' },
  )
  return rows.map((row) => ({
    ...row,
    input: decode(row.input),
    priority: PRIORITIES[row.priority] ?? 'batch',
  }))
}

/** REMOVE SCHEDULE; its tasks go on. False: there was none. */
export async function removeSchedule(db: Database, name: string): Promise<boolean> {
  const rows = await db.run(`delete from foothold.schedules where name = $1 returning 1`, [name], {
    doing: 'removing a schedule',
  })
  return rows.length > 0
}

/**
 * PAUSE SCHEDULE and its end, after which ticks of the time between are not owed. False: there is no such schedule.
 * Repeated, or already so: nothing changes.
 */
export async function setSchedulePaused(
  db: Database,
  name: string,
  change: { readonly isPaused: true } | { readonly isPaused: false; readonly nextAt: Date },
): Promise<boolean> {
  const rows = await db.run(
    `with s as (
       update foothold.schedules set is_paused = $2, next_at = coalesce($3::timestamptz, next_at), moved_at = foothold.clock(), seq = seq + 1
       where name = $1 and is_paused <> $2)
     select 1 from foothold.schedules where name = $1`,
    [name, change.isPaused, change.isPaused ? null : change.nextAt.toISOString()],
    { doing: change.isPaused ? 'pausing a schedule' : 'ending the pause of a schedule' },
  )
  return rows.length > 0
}

export interface DueSchedule {
  readonly name: string
  readonly seq: number
  readonly cron: string
  readonly timeZone: string
  readonly catchUp: CatchUp
  readonly nextAtMs: number
}

/** Bounds one statement's locks. */
export const FIRED_MAX = 100

export interface DueLook {
  readonly due: readonly DueSchedule[]
  /** Names of others that are due, of which no worker has registered the agent; the first few. */
  readonly unknown: readonly string[]
  readonly nowMs: number
  /** Until the next one; null: none. */
  readonly nextInMs: number | null
}

/** What is due, or stands ahead because the clock was set back. `except` are `name#seq` of rows as they stood. */
export async function readDueSchedules(db: Database, except: readonly string[]): Promise<DueLook> {
  const rows = await db.run<DueLook>(
    `with at as materialized (select foothold.clock() as now),
     d as materialized (
       select name, seq, cron, time_zone, catch_up, next_at from foothold.schedules s
       where not is_paused and name || '#' || seq <> all($1)
         and (next_at <= (select now from at) or moved_at > (select now from at) + interval '1 minute')
         and exists (select 1 from foothold.agents a where a.name = s.agent)
       order by next_at limit ${FIRED_MAX})
     select coalesce((select json_agg(json_build_object('name', name, 'seq', seq, 'cron', cron,
         'timeZone', time_zone, 'catchUp', catch_up, 'nextAtMs', extract(epoch from next_at) * 1000) order by next_at) from d), '[]') as due,
       array(select name from foothold.schedules s where not is_paused and next_at <= at.now
         and not exists (select 1 from foothold.agents a where a.name = s.agent) order by name limit 20) as unknown,
       (extract(epoch from at.now) * 1000)::float8 as "nowMs",
       (select (extract(epoch from min(next_at) - at.now) * 1000)::float8 from foothold.schedules
        where not is_paused and next_at > at.now) as "nextInMs"
     from at`,
    [except],
    { doing: 'looking for schedules that are due', patienceMs: 0 },
  )
  return rows[0] as DueLook
}

export interface ScheduleMove {
  readonly name: string
  readonly seq: number
  /** Those that become tasks, oldest first. */
  readonly ticks: readonly Date[]
  readonly nextAt: Date
}

export interface MovedSchedule {
  readonly name: string
  readonly agent: string
  /** Of its tasks; null when there are none. */
  readonly handler: string | null
  readonly tasks: number
}

/** FIRE. What another worker holds or has moved is left out of the answer. */
export async function fireSchedules(db: Database, moves: readonly ScheduleMove[]): Promise<readonly MovedSchedule[]> {
  const ticks = moves.flatMap(({ name, ticks }) => ticks.map((tick) => ({ name, tick })))
  return db.run<MovedSchedule>(
    `with at as materialized (select foothold.clock() as now),
     w as materialized (select * from unnest($1::text[], $2::int[], $3::timestamptz[]) w(name, seq, next_at)),
     k as materialized (select * from unnest($4::text[], $5::timestamptz[]) k(name, tick)),
     s as materialized (
       select s.name, s.agent, s.tenant, s.priority, s.input, s.overlap, s.last_task_id, w.next_at
       from foothold.schedules s join w on w.name = s.name and w.seq = s.seq
       where not s.is_paused order by s.name for no key update of s skip locked),
     h as materialized (
       select s.name, a.handler, a.deadline_ms from s cross join lateral (
         select handler, deadline_ms from foothold.agents where name = s.agent order by version desc limit 1) a),
     v as materialized (
       select s.name, h.handler, h.deadline_ms, k.tick, foothold.new_id() as task_id
       from s join h on h.name = s.name join k on k.name = s.name
       where s.overlap = 'allow' or not exists (
         select 1 from foothold.tasks t where t.id = s.last_task_id and t.status in ('pending', 'processing', 'waiting'))),
     d as (
       insert into foothold.dedupe (agent, tenant, key, task_id, body_hash, expires_at)
       select s.agent, s.tenant, 'schedule:' || s.name || '@' || to_char(v.tick at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI"Z"'),
         v.task_id, encode(sha256(convert_to(s.input::text, 'UTF8')), 'hex'),
         greatest(v.tick, at.now) + interval '${DEDUPE_DAYS} days'
       from v join s on s.name = v.name cross join at
       on conflict (agent, tenant, key) do nothing
       returning task_id),
     t as (
       insert into foothold.tasks (id, agent, handler, tenant, status, priority, run_at, tick_at, input_checked, deadline_ms, created_at)
       select v.task_id, s.agent, v.handler, s.tenant, 'pending', s.priority, at.now, v.tick, false, v.deadline_ms, at.now
       from v join d on d.task_id = v.task_id join s on s.name = v.name cross join at order by v.tick
       returning id),
     p as (
       insert into foothold.task_payloads (task_id, input)
       select t.id, s.input from t join v on v.task_id = t.id join s on s.name = v.name),
     made as (
       select distinct on (v.name) v.name, v.handler, v.tick, v.task_id, count(*) over (partition by v.name)::int as tasks
       from v join t on t.id = v.task_id order by v.name, v.tick desc),
     u as (
       update foothold.schedules u set next_at = s.next_at, seq = u.seq + 1, moved_at = at.now,
         last_tick_at = coalesce(made.tick, u.last_tick_at), last_task_id = coalesce(made.task_id, u.last_task_id)
       from s left join made on made.name = s.name cross join at
       where u.name = s.name
         -- A tick of an agent that nobody has registered yet stays owed.
         and (exists (select 1 from h where h.name = s.name) or not exists (select 1 from k where k.name = s.name))
       returning u.name, u.agent, made.handler, made.tasks)
     select name, agent, handler, coalesce(tasks, 0) as tasks from u`,
    [
      moves.map(({ name }) => name),
      moves.map(({ seq }) => seq),
      moves.map(({ nextAt }) => nextAt.toISOString()),
      ticks.map(({ name }) => name),
      ticks.map(({ tick }) => tick.toISOString()),
    ],
    { doing: 'firing schedules', patienceMs: 0 },
  )
}
