-- What must not run for now, until a person says otherwise. A table and not a setting of workers: it survives every
-- restart, and the statement that claims reads it.
create table foothold.pauses (
  kind text not null check (kind in ('agent', 'tenant', 'release')),
  value text not null,
  since timestamptz not null,
  reason text,
  paused_by text,
  primary key (kind, value)
);

-- Pending tasks of a paused tenant are set aside, so that no claim has to walk past a hundred thousand of them.
create index tasks_set_aside on foothold.tasks (tenant, id) where status = 'waiting' and waiting_for = 'pause';

-- What the author of an effect promised about an unknown outcome: whoever explains a task knows what a resume does.
-- key_until: inside it the same request is sent again under the same key; on_doubt counts after that.
alter table foothold.agent_steps
  add column on_doubt text check (on_doubt in ('find', 'repeat', 'stop', 'ask')),
  add column key_until timestamptz;

create view foothold.pause_view as select kind, value, since, reason, paused_by from foothold.pauses;
