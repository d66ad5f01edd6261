-- On-call is told of dead letters. The alert is written by the statement that makes the dead letter, so that no crash
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
