/**
 * Who wrote what, noted by the attacked database itself: triggers that know nothing of the engine's guards, and nothing
 * of its code but the tables. A step's write is judged at its commit, when it can see who holds the task by then.
 */
export const AUDIT = `
  create schema soak;
  -- No key: a second reply of one task must be able to come.
  create table soak.replies (id bigserial primary key, task uuid not null, mark text not null);
  create index on soak.replies (task);

  create table soak.step_writes (
    id bigserial primary key, at timestamptz not null default clock_timestamp(), task_id uuid not null, key text not null,
    status text not null, attempt int not null, worker_id text not null,
    held_attempt int, held_by text, task_status text, is_zombie boolean not null);
  create function soak.note_step() returns trigger language plpgsql as $$
  declare held record;
  begin
    -- Nobody's attempt wrote it: a wait that is over, or a person's fresh tries.
    if tg_op = 'UPDATE' and new.attempt = old.attempt and new.worker_id = old.worker_id
      and (old.status = 'waiting' or new.tries < old.tries) then return null; end if;
    select attempt, worker_id, status into held from foothold.tasks where id = new.task_id;
    insert into soak.step_writes (task_id, key, status, attempt, worker_id, held_attempt, held_by, task_status, is_zombie)
    values (new.task_id, new.key, new.status, new.attempt, new.worker_id, held.attempt, held.worker_id, held.status,
      not coalesce(held.attempt = new.attempt and (
        held.status = 'processing' and held.worker_id = new.worker_id
        -- A wait is stored by the statement that gives the task up for it.
        or held.status = 'waiting' and new.status = 'waiting'), false));
    return null;
  end $$;
  create constraint trigger note_step after insert or update on foothold.agent_steps
    deferrable initially deferred for each row execute function soak.note_step();

  create table soak.moves (
    id bigserial primary key, at timestamptz not null default clock_timestamp(), xid xid8 not null default pg_current_xact_id(),
    task_id uuid not null, from_status text not null, to_status text not null, attempt int not null, worker_id text,
    next_attempt int not null, next_worker_id text);
  create index on soak.moves (task_id, id);
  create function soak.note_move() returns trigger language plpgsql as $$
  begin
    insert into soak.moves (task_id, from_status, to_status, attempt, worker_id, next_attempt, next_worker_id)
    values (new.id, old.status, new.status, old.attempt, old.worker_id, new.attempt, new.worker_id);
    return null;
  end $$;
  create trigger note_move after update on foothold.tasks for each row
    when ((old.status, old.attempt, old.worker_id) is distinct from (new.status, new.attempt, new.worker_id))
    execute function soak.note_move();

  -- Bears the name of the worker that says it ended the attempt.
  create table soak.endings (
    id bigserial primary key, xid xid8 not null default pg_current_xact_id(), task_id uuid not null, attempt int not null,
    worker_id text not null, outcome text not null);
  create function soak.note_ending() returns trigger language plpgsql as $$
  begin
    insert into soak.endings (task_id, attempt, worker_id, outcome)
    values (new.task_id, new.attempt, new.worker_id, new.outcome);
    return null;
  end $$;
  create trigger note_ending after insert on foothold.attempts for each row execute function soak.note_ending();`

/** Writes of steps by who did not hold the task, endings by who did not, and tasks that were moved after their end. */
export const ZOMBIES = `
  select 'step' as what, task_id::text as task, key || ' as ' || status || ' by attempt ' || attempt || ' of ' || worker_id
      || ', held by attempt ' || coalesce(held_attempt::text, '-') || ' of ' || coalesce(held_by, 'nobody') || ', ' || coalesce(task_status, 'gone') as said
    from soak.step_writes where is_zombie
  union all
  select 'ending', e.task_id::text, e.outcome || ' by ' || e.worker_id || ', held by ' || coalesce(m.worker_id, 'nobody')
    from soak.endings e join soak.moves m on m.xid = e.xid and m.task_id = e.task_id
    where m.from_status <> 'processing' or m.worker_id is distinct from e.worker_id or m.attempt <> e.attempt
  union all
  select 'end', task_id::text, from_status || ' to ' || to_status from soak.moves where from_status in ('completed', 'cancelled')`
