-- Deploys of changed code. What the code of a release refuses waits as `code`, without a slot and off the claim's index,
-- for a worker of a release that has not refused it, or for a person.
alter table foothold.tasks
  -- releases whose code has refused it since a person last moved it; null: none
  add column refused_by text[],
  -- what the schema made of the input is what it makes of that again: a worker checks it anew, whatever its schema has become
  add column input_stable boolean not null default false,
  -- the version it was submitted for, where the code of another version has gone on with it; `handler` names that one
  add column begun_version int;

create index tasks_refused on foothold.tasks (handler, run_at, id) where status = 'waiting' and waiting_for = 'code';
