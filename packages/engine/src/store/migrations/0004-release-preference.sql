-- Of a task that was handed over: the release that gave it up, and until when workers of that release leave it to others.
alter table foothold.tasks
  add column left_release text,
  add column yield_until timestamptz;
