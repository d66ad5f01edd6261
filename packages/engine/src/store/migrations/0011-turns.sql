-- Tenants take turns. By itself: an index looks at every row, and two in one migration would hold up claims twice as long.

-- False for what was there before: else the index would have to sort a million rows while nothing can be claimed.
alter table foothold.tasks add column takes_turns boolean not null default false;
alter table foothold.tasks alter column takes_turns set default true;

-- Who among the tenants has something pending, whatever a million tasks of one of them lie before it.
create index tasks_turns on foothold.tasks (handler, priority, tenant, run_at, id)
  where status = 'pending' and not suspect and takes_turns and tenant <> '';
