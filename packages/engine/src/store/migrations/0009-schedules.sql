-- What is to be submitted again and again. Workers reckon when (cron and time zones are the library's); the row says what
-- comes next, and whoever moves it on makes its tasks in the same statement.
create table foothold.schedules (
  name text primary key,
  agent text not null,
  tenant text not null default '',
  priority smallint not null,
  input json not null,
  cron text not null,
  time_zone text not null,
  catch_up text not null check (catch_up in ('once', 'skip', 'all')),
  overlap text not null check (overlap in ('skip', 'allow')),
  is_paused boolean not null default false,
  -- grows with every write: a move that was reckoned from an older row changes nothing
  seq int not null default 1,
  next_at timestamptz not null,
  -- the clock at the last write: when it lies ahead, the clock was set back since, and next_at is reckoned anew
  moved_at timestamptz not null,
  last_tick_at timestamptz,
  last_task_id uuid,
  created_at timestamptz not null
);
create index schedules_due on foothold.schedules (next_at) where not is_paused;
create index schedules_ahead on foothold.schedules (moved_at) where not is_paused;

-- Of a task that a schedule made: the tick, which may be long past.
alter table foothold.tasks add column tick_at timestamptz;

-- Keys are pruned by their own time, whatever became of the task.
create index dedupe_expiring on foothold.dedupe (expires_at);

create view foothold.schedule_view as
  select name, agent, nullif(tenant, '') as tenant, case priority when 0 then 'live' when 1 then 'normal' else 'batch' end as priority,
         cron, time_zone, catch_up, overlap, is_paused, next_at, last_tick_at, last_task_id
  from foothold.schedules;
