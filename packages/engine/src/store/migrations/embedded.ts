/** Generated from the .sql files beside it by scripts/embed-migrations.ts. */

export interface Migration {
  readonly version: number
  readonly name: string
  /** Code that does not know it must not run on it. */
  readonly breaking: boolean
  readonly sql: string
}

export const MIGRATIONS: readonly Migration[] = [
  {
    version: 1,
    name: 'core',
    breaking: false,
    sql: `-- Tasks, their steps, attempts and signals, and the workers that run them.
-- No foreign keys between hot tables: every one would lock the task row a second time at each step.

-- The one clock of every statement. clock_timestamp(), not now(): after a lock wait now() lies in the past.
-- Tests move time by replacing this function.
create function foothold.clock() returns timestamptz language sql volatile as 'select clock_timestamp()';

-- UUID version 7 (RFC 9562) from the clock and random bits; PostgreSQL has its own only from 18 on.
create function foothold.new_id() returns uuid language sql volatile as $$
  select encode(set_bit(set_bit(overlay(uuid_send(gen_random_uuid())
    placing substring(int8send((extract(epoch from clock_timestamp()) * 1000)::bigint) from 3) from 1 for 6),
    52, 1), 53, 1), 'hex')::uuid
$$;

-- What workers can run, so that producers in other processes can submit by name.
create table foothold.agents (
  handler text primary key,
  name text not null,
  version int not null,
  deadline_ms int not null,
  has_dead_letter_handler boolean not null,
  registered_at timestamptz not null
);

create table foothold.tasks (
  id uuid primary key,
  agent text not null,
  -- agent@version of the code it may run on
  handler text not null,
  status text not null check (status in ('pending', 'processing', 'waiting', 'completed', 'cancelled', 'dead_letter')),
  priority smallint not null default 1,
  run_at timestamptz not null,
  tenant text not null default '',
  -- false: submitted by name; the worker that runs it checks the input
  input_checked boolean not null default true,
  -- grows by one at every claim, never resets, fences every write
  attempt int not null default 0,
  claim_id uuid,
  worker_id text,
  claimed_at timestamptz,
  retry_count int not null default 0,
  crash_count int not null default 0,
  crashes_total int not null default 0,
  handover_count int not null default 0,
  max_crashes smallint not null default 3,
  last_reason text,
  suspect boolean not null default false,
  waiting_for text,
  wake_at timestamptz,
  wake_seq int not null default 0,
  cancel_requested_at timestamptz,
  cancel_reason text,
  parent_id uuid,
  -- null deadline_ms: deadline_at was given by the producer and stays
  deadline_ms int,
  deadline_at timestamptz,
  created_at timestamptz not null,
  started_at timestamptz,
  finished_at timestamptz,
  check ((status = 'processing') = (worker_id is not null))
) with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);

-- The claim's. It never tests the clock: what is due later is waiting, not pending.
create index tasks_pending on foothold.tasks (handler, priority, run_at, id) where status = 'pending' and not suspect;
create index tasks_suspect on foothold.tasks (handler, run_at, id) where status = 'pending' and suspect;
create index tasks_of_worker on foothold.tasks (worker_id) where status = 'processing';
create index tasks_waking on foothold.tasks (wake_at) where status = 'waiting' and wake_at is not null;
create index tasks_dead_letters on foothold.tasks (id) where status = 'dead_letter';
-- For the lists that people read.
create index tasks_of_tenant on foothold.tasks (tenant, id) where tenant <> '';
create index tasks_unfinished on foothold.tasks (status, id) where status in ('pending', 'waiting');

create table foothold.task_payloads (
  task_id uuid primary key,
  input json not null,
  output json,
  error json
);

create table foothold.dedupe (
  agent text not null,
  tenant text not null,
  key text not null,
  task_id uuid not null,
  body_hash text not null,
  expires_at timestamptz not null,
  primary key (agent, tenant, key)
);

-- fillfactor 50 and no index on what a heartbeat changes: each heartbeat is one HOT update.
create table foothold.workers (
  id text primary key,
  release text not null,
  handlers text[] not null,
  concurrency int not null,
  status text not null check (status in ('active', 'draining', 'stopped', 'lost')),
  -- the status it had when it was declared lost: dying while draining is no crash
  lost_while text,
  -- how many tasks it was running then: only a crash alone may take a task's last one
  lost_running int,
  started_at timestamptz not null,
  last_heartbeat_at timestamptz not null,
  -- its own: during a deploy that changes it two lengths are in use
  lease_ms int not null,
  lease_until timestamptz not null,
  -- since when its own heartbeats came in time: only a steady worker may declare another one lost
  steady_since timestamptz not null,
  running int not null default 0
) with (fillfactor = 50);

create table foothold.agent_steps (
  task_id uuid not null,
  key text not null,
  kind text not null check (kind in ('step', 'transaction', 'effect', 'sleep', 'signal', 'run')),
  version int not null default 1,
  status text not null check (status in ('intent', 'waiting', 'failed', 'completed', 'unknown')),
  tries int not null default 0,
  -- false: a failed step that no further try will help
  retryable boolean not null default true,
  attempt int not null,
  worker_id text not null,
  idempotency_key text,
  -- definite refusals so far; part of the idempotency key
  refusals int not null default 0,
  request json,
  output json,
  error json,
  usage json,
  -- the end of a wait or a back-off
  due_at timestamptz,
  -- until then a request in flight may still arrive at the receiver
  doubt_until timestamptz,
  started_at timestamptz not null,
  finished_at timestamptz,
  primary key (task_id, key)
);

create table foothold.attempts (
  task_id uuid not null,
  attempt int not null,
  worker_id text not null,
  started_at timestamptz not null,
  ended_at timestamptz not null,
  outcome text not null check (outcome in ('completed', 'handed_over', 'waiting', 'orphaned', 'cancelled', 'dead_letter')),
  reason text,
  detail text,
  primary key (task_id, attempt)
);

create table foothold.signals (
  id bigint generated always as identity primary key,
  task_id uuid not null,
  name text not null,
  payload json not null,
  dedupe_key text,
  consumed_by text,
  created_at timestamptz not null,
  unique (task_id, name, dedupe_key)
);
create index signals_unconsumed on foothold.signals (task_id) where consumed_by is null;

create table foothold.stream_chunks (
  id bigint generated always as identity primary key,
  task_id uuid not null,
  key text not null,
  attempt int not null,
  tries int not null,
  -- counts within one try of one step: makes a repeated insert harmless
  seq int not null,
  channel text not null,
  chunk json not null,
  created_at timestamptz not null,
  unique (task_id, key, attempt, tries, seq)
);
create index stream_chunks_of_task on foothold.stream_chunks (task_id, id);

-- The contract for people and other languages; the tables may change, these stay.
create view foothold.task_view as
  select id, agent, handler, status, case priority when 0 then 'live' when 1 then 'normal' else 'batch' end as priority,
         nullif(tenant, '') as tenant, attempt, worker_id, last_reason, waiting_for, wake_at,
         retry_count, crash_count, handover_count, cancel_requested_at, parent_id, deadline_at,
         created_at, started_at, finished_at
  from foothold.tasks;
create view foothold.attempt_view as
  select task_id, attempt, worker_id, started_at, ended_at, outcome, reason, detail from foothold.attempts;
create view foothold.worker_view as
  select id, release, handlers, concurrency, status, running, started_at, last_heartbeat_at, lease_until
  from foothold.workers;
`,
  },
  {
    version: 2,
    name: 'alerts',
    breaking: false,
    sql: `-- On-call is told of dead letters. The alert is written by the statement that makes the dead letter, so that no crash
-- lies between the two; grouping, counting and sending come later, in statements of their own.

create table foothold.alerts (
  task_id uuid not null,
  attempt int not null,
  agent text not null,
  reason text not null,
  at timestamptz not null,
  -- null until a worker has put it in a group; nothing else of a row ever changes
  group_id bigint,
  primary key (task_id, attempt)
);
create index alerts_ungrouped on foothold.alerts (at) where group_id is null;
create index alerts_of_group on foothold.alerts (group_id, task_id) where group_id is not null;

-- What is one message to a person: dead letters of one agent for one reason, without a long pause between them.
create table foothold.alert_groups (
  id bigint generated always as identity primary key,
  agent text not null,
  reason text not null,
  opened_at timestamptz not null,
  last_alert_at timestamptz not null,
  resolved_at timestamptz,
  -- false: what comes now belongs to another group
  takes_alerts boolean not null default true,
  -- grows with every alert that is taken: a look that has not seen it decides nothing
  seq int not null default 1,
  -- grows with what there is to show; 0 until the tasks have been counted
  version int not null default 0,
  -- when its tasks are counted again
  look_at timestamptz not null,
  changed_at timestamptz not null,
  -- since when none of its tasks is a dead letter
  all_left_at timestamptz,
  -- its tasks, and where they stand: still dead letters of this group, on their way again, ended
  tasks int not null default 0,
  standing int not null default 0,
  under_way int not null default 0,
  completed int not null default 0,
  cancelled int not null default 0
);
create unique index alert_groups_taking on foothold.alert_groups (agent, reason) where takes_alerts;
create index alert_groups_open on foothold.alert_groups (look_at) where resolved_at is null;
create index alert_groups_resolved on foothold.alert_groups (resolved_at) where resolved_at is not null;

-- How far one channel has shown one group. The row is claimed by whoever sends, so that there is one sender.
create table foothold.alert_deliveries (
  group_id bigint not null,
  channel text not null,
  -- the channel's own name of its message; null until one was sent and that was stored
  message_ref json,
  version_shown int not null default 0,
  shown_at timestamptz,
  claim_id uuid,
  lease_until timestamptz,
  due_at timestamptz not null,
  -- sends in a row that were begun and whose outcome nobody knows
  doubts int not null default 0,
  failures int not null default 0,
  last_error text,
  primary key (group_id, channel)
);

-- Whether a dead letter's follow-up has told whoever waited.
create index tasks_of_parent on foothold.tasks (parent_id) where parent_id is not null;

create view foothold.alert_group_view as
  select id, agent, reason, opened_at, last_alert_at, resolved_at, tasks, standing, under_way, completed, cancelled
  from foothold.alert_groups;
`,
  },
]
