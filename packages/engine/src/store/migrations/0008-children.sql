-- Child tasks and approvals: what a task waits for beside time, signals and doubts.

-- The step of the parent that a child answers; null for the follow-up of a dead letter, which has a parent too.
alter table foothold.tasks add column parent_key text;

-- Not valid: what stands has passed a narrower check, and looking at every row would hold up the steps of all tasks.
alter table foothold.agent_steps
  add column child_id uuid,
  drop constraint agent_steps_kind_check,
  add constraint agent_steps_kind_check
    check (kind in ('step', 'transaction', 'effect', 'sleep', 'signal', 'run', 'child', 'approval')) not valid;

-- Children that are under way, and those whose end their parent has not been told of. The statement that starts a child,
-- and one that lets an ended one go on, puts the row in; the one that wakes the parent takes it out. So whoever ends a
-- child, an older release or a person with SQL included, needs not know that it is one.
create table foothold.children (
  child_id uuid primary key,
  parent_id uuid not null
);
create index children_of_parent on foothold.children (parent_id);

create view foothold.child_view as
  select t.parent_id, t.parent_key as key, t.id as child_id, t.agent, t.status, t.created_at, t.finished_at
  from foothold.tasks t where t.parent_id is not null and t.parent_key is not null;
