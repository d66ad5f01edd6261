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
  {
    version: 3,
    name: 'sql-functions',
    breaking: false,
    sql: `-- The door for any language: submit, cancel and signal as functions, beside the views a contract. They answer as the
-- TypeScript client does; docs/sql.md says what they promise.
--
-- SECURITY DEFINER, so that a producer's role needs nothing but EXECUTE: it can write no row that these functions would
-- not write, and read no payload. Therefore each pins its search_path, names everything in full, and is nobody's until
-- it is granted. The helpers below them are called by them alone.

-- Class TH: of the classes that the SQL standard leaves to implementations.
create function foothold.refuse(code text, message text, details json) returns void language plpgsql as $$
begin
  raise exception using
    errcode = case code
      when 'INVALID_ARGUMENT' then 'TH001'
      when 'PAYLOAD_TOO_LARGE' then 'TH002'
      when 'VALUE_NOT_STORABLE' then 'TH003'
      when 'AGENT_UNKNOWN' then 'TH004'
      when 'DEDUPE_CONFLICT' then 'TH005'
      when 'TASK_NOT_FOUND' then 'TH006'
      when 'TASK_STATE_CONFLICT' then 'TH007' end,
    message = code || ': ' || message,
    detail = details::text;
end $$;

create function foothold.refuse_argument(field text, problem text, cure text default null) returns void language plpgsql as $$
begin
  perform foothold.refuse('INVALID_ARGUMENT', field || ': ' || problem || '.' || coalesce(' ' || cure, ''),
    json_strip_nulls(json_build_object('field', field, 'problem', problem, 'cure', cure)));
end $$;

create function foothold.check_name(field text, value text) returns void language plpgsql as $$
begin
  if value ~ '^[A-Za-z][A-Za-z0-9_.-]{0,99}$' then return; end if;
  perform foothold.refuse_argument(field, coalesce(to_json(left(value, 120))::text, 'null') || ' is not a name',
    'Use a Latin letter, then letters, digits, "_", "-" or ".", 100 characters at most.');
end $$;

-- Null: none was given.
create function foothold.check_key(field text, value text) returns void language plpgsql as $$
begin
  if value = '' then
    perform foothold.refuse_argument(field, 'it is empty', 'Leave it out, or pass null, where there is none.');
  elsif octet_length(convert_to(value, 'UTF8')) > 512 then
    perform foothold.refuse_argument(field,
      'it takes ' || octet_length(convert_to(value, 'UTF8')) || ' bytes, the limit is 512');
  end if;
end $$;

-- Null: none was given.
create function foothold.check_time(field text, value timestamptz) returns void language plpgsql as $$
begin
  if value < '0001-01-01 00:00:00+00' or value >= '10000-01-01 00:00:00+00' then
    perform foothold.refuse_argument(field, value || ' is not a time in the years 1 to 9999');
  end if;
end $$;

create function foothold.check_payload(field text, value json) returns void language plpgsql as $$
declare
  written constant text := value::text;
  bytes constant int := octet_length(convert_to(written, 'UTF8'));
begin
  if value is null then
    perform foothold.refuse_argument(field, 'it is null', 'For the JSON value pass ''null''::json.');
  elsif bytes > 16777216 then
    perform foothold.refuse('PAYLOAD_TOO_LARGE',
      field || ' takes ' || bytes || ' bytes, the limit is 16777216: store it elsewhere and pass a reference.',
      json_build_object('field', field, 'bytes', bytes, 'bytesMax', 16777216));
  -- Most have fewer brackets than that, so nobody has to look how they are nested.
  elsif length(written) - length(translate(written, '[{', '')) > 500 and (
      select max(level) from (
        select sum(case when bracket[1] in ('[', '{') then 1 when bracket[1] in (']', '}') then -1 else 0 end) over (order by n) as level
        from regexp_matches(written, '"(?:[^"\\\\]|\\\\.)*"|[][{}]', 'g') with ordinality m(bracket, n)) levels) > 500 then
    perform foothold.refuse('VALUE_NOT_STORABLE', field || ' cannot be stored: nesting deeper than 500 levels.',
      json_build_object('field', field, 'path', '$', 'what', 'nesting deeper than 500 levels'));
  end if;
end $$;

-- A number as ECMAScript writes the double next to it; an integer that no double shows becomes the bigint it is read as.
create function foothold.canonical_number(token text) returns text language plpgsql immutable strict as $$
declare
  nearest float8;
  whole text;
  shown text;
  digits text;
  -- the decimal point stands before digit number point + 1
  point numeric;
  shorter text;
  written text;
begin
  if token ~ '^(0|-?[1-9][0-9]{0,14})$' then return token; end if;
  begin
    nearest := abs(token::float8);
    shown := nearest::text;
  exception when numeric_value_out_of_range then
    shown := lower(ltrim(token, '-'));
  end;
  whole := split_part(split_part(shown, 'e', 1), '.', 1);
  digits := ltrim(whole || split_part(split_part(shown, 'e', 1), '.', 2), '0');
  point := length(digits) - length(split_part(split_part(shown, 'e', 1), '.', 2))
    + coalesce(nullif(split_part(shown, 'e', 2), ''), '0')::numeric;
  digits := rtrim(digits, '0');
  if nearest = 0 or digits = '' or (nearest is null and point <= 0) then return '0'; end if;
  -- Of two decimals PostgreSQL leaves out the one that lies exactly between two doubles, though it reads back as the
  -- even one; ECMAScript takes it when it is shorter.
  begin
    while nearest is not null and length(digits) > 1 loop
      shorter := (
        select d::text from unnest(array[trunc(digits::numeric / 10), trunc(digits::numeric / 10) + 1]) d
        where ('0.' || d || 'e' || point + length(d::text) - length(digits) + 1)::float8 = nearest limit 1);
      exit when shorter is null;
      point := point + length(shorter) - length(digits) + 1;
      digits := rtrim(shorter, '0');
    end loop;
  exception when numeric_value_out_of_range then
    -- The greatest double rounded up.
    null;
  end;
  written := case when token ~ '^-' then '-' else '' end || case
    when point between length(digits) and 21 then rpad(digits, point::int, '0')
    when point between 1 and 21 then left(digits, point::int) || '.' || substr(digits, point::int + 1)
    when point between -5 and 0 then '0.' || repeat('0', -point::int) || digits
    else left(digits, 1) || case when length(digits) > 1 then '.' || substr(digits, 2) else '' end
         || 'e' || case when point > 0 then '+' else '-' end || abs(point - 1) end;
  if nearest is null then written := 'null'; end if;
  if token ~ '^-?[0-9]{16,}$' and written <> token then
    return '{"$foothold":"bigint","value":"' || token || '"}';
  end if;
  return written;
end $$;

create function foothold.canonical_node(body json) returns text language plpgsql immutable strict as $$
declare
  kind constant text := json_typeof(body);
  token text;
begin
  if kind = 'object' then
    -- Array indices first and by their value, the others by UTF-16 units: the order of an object's keys in ECMAScript.
    return (
      select '{' || coalesce(string_agg(to_json(m.key)::text || ':' || foothold.canonical_node(m.value), ','
        order by case when m.key ~ '^(0|[1-9][0-9]{0,9})$' and m.key::bigint < 4294967295 then m.key::bigint end nulls last,
          case when m.key collate "C" ~ '[\\uE000-\\U0010FFFF]'
            then regexp_replace(regexp_replace(m.key collate "C", '([\\U00010000-\\U0010FFFF])', chr(1114110) || '\\1', 'g'),
              '([\\uE000-\\uFFFF])', chr(1114111) || '\\1', 'g')
            else m.key end collate "C"), '') || '}'
      -- Of a key that comes twice the last counts.
      from (select distinct on (e.key) e.key, e.value from json_each(body) with ordinality e(key, value, n) order by e.key, e.n desc) m);
  elsif kind = 'array' then
    return (
      select '[' || coalesce(string_agg(foothold.canonical_node(e.value), ',' order by e.n), '') || ']'
      from json_array_elements(body) with ordinality e(value, n));
  end if;
  token := btrim(body::text, E' \\t\\n\\r');
  return case when kind = 'number' then foothold.canonical_number(token)
              when kind = 'string' and strpos(token, '\\') > 0 then token::jsonb::text
              else token end;
end $$;

-- One text for all JSON texts that say the same; to the letter what protocol/canonical-json.ts makes of them.
create function foothold.canonical_json(body json) returns text language plpgsql immutable strict as $$
declare
  -- For the backslash and u of an escape that no text of PostgreSQL can hold: NUL, and half of a surrogate pair.
  stand_in constant text := chr(1114109);
  written text := body::text;
begin
  if written !~* '\\\\u(0000|d[89a-f])' then return foothold.canonical_node(body); end if;
  written := (
    select string_agg(case when m.part[1] ~* '^\\\\u(0000|d[89a-f]..)$' then stand_in || lower(substr(m.part[1], 3)) else m.part[1] end, '' order by m.n)
    from regexp_matches(written, '\\\\u[dD][89abAB][0-9a-fA-F]{2}\\\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\\\u[0-9a-fA-F]{4}|\\\\[^u]|[^\\\\]+', 'g')
      with ordinality m(part, n));
  if written ~ ('"(?:[^"\\\\]|\\\\.)*' || stand_in || '(?:[^"\\\\]|\\\\.)*"\\s*:') or strpos(body::text, stand_in) > 0 then
    perform foothold.refuse('VALUE_NOT_STORABLE',
      'input cannot be compared under a dedupe key: a key of it holds U+0000 or half of a surrogate pair. Use another key, or none.',
      json_build_object('field', 'input', 'path', '$', 'what', 'a key that holds U+0000 or half of a surrogate pair'));
  end if;
  return replace(foothold.canonical_node(written::json), stand_in, '\\u');
end $$;

-- Says at the commit that a task of this handler is pending. A transaction that carries a notice commits alone in the
-- whole server, so of those open at one time only one carries it, and none waits for another: who looks because of it
-- looks again every 50 ms, and finds theirs.
create function foothold.announce(handler text) returns void language plpgsql as $$
begin
  if pg_try_advisory_xact_lock(hashtext('foothold_pending'), hashtext(handler)) then
    perform pg_notify('foothold_pending', handler);
  end if;
end $$;

create function foothold.submit(
  agent text,
  input json,
  dedupe_key text default null,
  priority text default 'normal',
  tenant text default null,
  run_at timestamptz default null,
  deadline_at timestamptz default null,
  out task_id uuid,
  out created boolean
) language plpgsql security definer set search_path = pg_catalog, pg_temp
  -- Of the caller's session, and part of how a body is hashed.
  set extra_float_digits = 1 set standard_conforming_strings = on
as $$
#variable_conflict use_column
declare
  ranks constant text[] := array['live', 'normal', 'batch'];
  rank constant int := array_position(ranks, coalesce(submit.priority, 'normal')) - 1;
  target record;
  hash text;
  taken record;
  at timestamptz;
  is_due boolean;
begin
  perform foothold.check_name('agent', submit.agent);
  perform foothold.check_payload('input', submit.input);
  perform foothold.check_key('dedupe_key', submit.dedupe_key);
  perform foothold.check_key('tenant', submit.tenant);
  if rank is null then
    perform foothold.refuse_argument('priority',
      to_json(left(submit.priority, 100)) || ' is none of ' || array_to_string(ranks, ', '));
  end if;
  perform foothold.check_time('run_at', submit.run_at);
  perform foothold.check_time('deadline_at', submit.deadline_at);
  if submit.deadline_at <= submit.run_at then
    perform foothold.refuse_argument('deadline_at', submit.deadline_at || ' is not after run_at, ' || submit.run_at);
  end if;
  select a.handler, a.deadline_ms into target from foothold.agents a
  where a.name = submit.agent order by a.version desc limit 1;
  if not found then
    declare
      known constant text[] := array(select distinct a.name from foothold.agents a order by a.name limit 200);
    begin
      perform foothold.refuse('AGENT_UNKNOWN',
        'No agent named ' || to_json(submit.agent) || ' is known here. Known: '
          || coalesce(nullif(array_to_string(known, ', '), ''), 'none, start a worker first') || '.',
        json_build_object('agent', submit.agent, 'known', known));
    end;
  end if;

  task_id := foothold.new_id();
  if submit.dedupe_key is not null then
    hash := encode(sha256(convert_to(foothold.canonical_json(submit.input), 'UTF8')), 'hex');
    for round in 1..3 loop
      at := foothold.clock();
      if round = 1 then
        -- A key in use is not locked, so that a long transaction of one producer does not hold up the others.
        insert into foothold.dedupe (agent, tenant, key, task_id, body_hash, expires_at)
        values (submit.agent, coalesce(submit.tenant, ''), submit.dedupe_key, submit.task_id, hash, at + interval '30 days')
        on conflict (agent, tenant, key) do nothing;
      else
        insert into foothold.dedupe as k (agent, tenant, key, task_id, body_hash, expires_at)
        values (submit.agent, coalesce(submit.tenant, ''), submit.dedupe_key, submit.task_id, hash, at + interval '30 days')
        on conflict (agent, tenant, key) do update
          set task_id = excluded.task_id, body_hash = excluded.body_hash, expires_at = excluded.expires_at
          where k.expires_at <= foothold.clock();
      end if;
      created := found;
      exit when created;
      select k.task_id, k.body_hash into taken from foothold.dedupe k
      where k.agent = submit.agent and k.tenant = coalesce(submit.tenant, '') and k.key = submit.dedupe_key
        and k.expires_at > foothold.clock();
      continue when not found;
      if taken.body_hash <> hash then
        perform foothold.refuse('DEDUPE_CONFLICT',
          'Dedupe key ' || to_json(submit.dedupe_key) || ' was used with another input for task ' || taken.task_id
            || ': use a new key for a new request.',
          json_build_object('dedupeKey', submit.dedupe_key, 'taskId', taken.task_id));
      end if;
      task_id := taken.task_id;
      return;
    end loop;
    if not created then
      raise exception using errcode = 'serialization_failure',
        message = 'The dedupe key kept changing hands while a task was submitted: submit it again.';
    end if;
  end if;

  at := foothold.clock();
  is_due := submit.run_at is null or submit.run_at <= at;
  insert into foothold.tasks (id, agent, handler, tenant, status, waiting_for, wake_at, priority, run_at, input_checked,
    deadline_ms, deadline_at, created_at)
  values (submit.task_id, submit.agent, target.handler, coalesce(submit.tenant, ''),
    case when is_due then 'pending' else 'waiting' end,
    case when not is_due then 'start' end,
    case when not is_due then submit.run_at end,
    rank, greatest(submit.run_at, at), false,
    case when submit.deadline_at is null then target.deadline_ms end, submit.deadline_at, at);
  insert into foothold.task_payloads (task_id, input) values (submit.task_id, submit.input);
  if is_due then perform foothold.announce(target.handler); end if;
  created := true;
end $$;

create function foothold.cancel(
  task_id uuid,
  reason text default 'cancelled',
  out outcome text,
  out status text
) language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
  said constant text := coalesce(cancel.reason, 'cancelled');
begin
  update foothold.tasks t set
    cancel_requested_at = coalesce(t.cancel_requested_at, foothold.clock()),
    cancel_reason = coalesce(t.cancel_reason, case when length(said) > 500 then left(said, 499) || '…' else said end),
    wake_seq = t.wake_seq + 1,
    status = case when t.status = 'processing' then t.status else 'cancelled' end,
    last_reason = case when t.status = 'processing' then t.last_reason else 'cancelled' end,
    finished_at = case when t.status = 'processing' then null else foothold.clock() end,
    wake_at = null, waiting_for = null
  where t.id = cancel.task_id and t.status in ('pending', 'processing', 'waiting', 'dead_letter')
  returning t.status into cancel.status;
  if found then
    outcome := case when cancel.status = 'processing' then 'requested' else 'cancelled' end;
    return;
  end if;
  select t.status into cancel.status from foothold.tasks t where t.id = cancel.task_id;
  if not found then perform foothold.refuse_task(cancel.task_id); end if;
  outcome := 'already_ended';
end $$;

create function foothold.refuse_task(task_id uuid) returns void language plpgsql as $$
begin
  perform foothold.refuse('TASK_NOT_FOUND', 'There is no task ' || coalesce(task_id::text, 'null') || '.',
    json_build_object('taskId', task_id));
end $$;

create function foothold.signal(
  task_id uuid,
  name text,
  payload json default 'null',
  dedupe_key text default null
) returns void language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
  woken record;
  standing text;
begin
  perform foothold.check_key('dedupe_key', signal.dedupe_key);
  perform foothold.check_name('name', signal.name);
  perform foothold.check_payload('payload', signal.payload);
  -- The task's row first: a worker that is about to wait either sees the signal or fails on wake_seq.
  update foothold.tasks t set wake_seq = t.wake_seq + 1,
    status = case when t.status = 'waiting' and t.waiting_for is distinct from 'start' then 'pending' else t.status end,
    wake_at = case when t.waiting_for = 'start' then t.wake_at end,
    waiting_for = case when t.waiting_for = 'start' then t.waiting_for end
  where t.id = signal.task_id and t.status in ('pending', 'processing', 'waiting', 'dead_letter')
  returning t.handler, t.status into woken;
  if found then
    insert into foothold.signals (task_id, name, payload, dedupe_key, created_at)
    values (signal.task_id, signal.name, signal.payload, coalesce(signal.dedupe_key, 'once:' || foothold.new_id()), foothold.clock())
    on conflict (task_id, name, dedupe_key) do nothing;
    if woken.status = 'pending' then perform foothold.announce(woken.handler); end if;
    return;
  end if;
  select t.status into standing from foothold.tasks t where t.id = signal.task_id;
  if not found then perform foothold.refuse_task(signal.task_id); end if;
  -- Its end may have come after the same signal had been stored.
  if exists (select 1 from foothold.signals g
    where g.task_id = signal.task_id and g.name = signal.name and g.dedupe_key = signal.dedupe_key) then return; end if;
  perform foothold.refuse('TASK_STATE_CONFLICT',
    'Task ' || signal.task_id || ' is ' || standing || '; a task that has ended takes no signal.',
    json_build_object('taskId', signal.task_id, 'status', standing, 'wanted', 'a task that has ended takes no signal'));
end $$;

-- What became of a task. Payloads stand in a view of their own, so that a role may see states and no contents.
create view foothold.outcome_view as
  select t.id as task_id, t.agent, nullif(t.tenant, '') as tenant, t.status, t.finished_at, p.output, p.error
  from foothold.tasks t join foothold.task_payloads p on p.task_id = t.id
  where t.status in ('completed', 'cancelled', 'dead_letter');
create view foothold.step_view as
  select task_id, key, kind, status, version, tries, attempt, worker_id, due_at, started_at, finished_at, error, usage
  from foothold.agent_steps;
-- Which task a key of a producer's stands for.
create view foothold.dedupe_view as
  select agent, nullif(tenant, '') as tenant, key, task_id, expires_at from foothold.dedupe;
create view foothold.agent_view as
  select name, version, handler, deadline_ms, has_dead_letter_handler, registered_at from foothold.agents;

-- Whoever is let into the schema to read its views may not yet call these.
revoke execute on function
  foothold.refuse(text, text, json), foothold.refuse_argument(text, text, text), foothold.refuse_task(uuid),
  foothold.check_name(text, text), foothold.check_key(text, text), foothold.check_time(text, timestamptz),
  foothold.check_payload(text, json), foothold.canonical_number(text), foothold.canonical_node(json),
  foothold.canonical_json(json), foothold.announce(text),
  foothold.submit(text, json, text, text, text, timestamptz, timestamptz), foothold.cancel(uuid, text),
  foothold.signal(uuid, text, json, text)
from public;
`,
  },
  {
    version: 4,
    name: 'release-preference',
    breaking: false,
    sql: `-- Of a task that was handed over: the release that gave it up, and until when workers of that release leave it to others.
alter table foothold.tasks
  add column left_release text,
  add column yield_until timestamptz;
`,
  },
  {
    version: 5,
    name: 'pauses',
    breaking: false,
    sql: `-- What must not run for now, until a person says otherwise. A table and not a setting of workers: it survives every
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
`,
  },
  {
    version: 6,
    name: 'lifeline',
    breaking: false,
    sql: `-- Names the advisory lock that a worker's own session holds while its process lives. An identity column: who may insert
-- a worker needs no right to a sequence.
alter table foothold.workers
  add column lifeline_no int generated by default as identity (cycle),
  -- It holds one, or is about to: false behind a pooler.
  add column has_lifeline boolean not null default false,
  -- As of the last heartbeat: the longest time since the one before for which the main loop did not get its turn.
  add column loop_lag_ms int,
  add column rss_bytes bigint,
  add column draining_since timestamptz;
create or replace view foothold.worker_view as
  select id, release, handlers, concurrency, status, running, started_at, last_heartbeat_at, lease_until,
         has_lifeline, loop_lag_ms, rss_bytes
  from foothold.workers;

-- What people have switched off until they say otherwise, without a deploy: lookouts read it at every look.
create table foothold.switched_off (
  name text primary key check (name = 'lifeline'),
  since timestamptz not null,
  reason text,
  switched_by text
);
`,
  },
  {
    version: 7,
    name: 'limits',
    breaking: false,
    sql: `-- How much of an agent, of a tenant or of a limit key may run at once, and how much of it may start per period. The value
-- '*' stands for each one that has no row of its own.
create table foothold.limits (
  kind text not null check (kind in ('agent', 'tenant', 'key')),
  value text not null,
  concurrency int check (concurrency > 0),
  rate int check (rate > 0),
  period_ms int check (period_ms > 0),
  -- of the last period: the newest starts, at most \`rate\` of them. Written by the claim, under the limit's lock
  starts timestamptz[] not null default '{}',
  set_at timestamptz not null,
  set_by text,
  primary key (kind, value),
  check (concurrency is not null or rate is not null),
  check ((rate is null) = (period_ms is null)),
  check (rate is null or value <> '*')
) with (fillfactor = 50);

alter table foothold.tasks
  add column limit_key text,
  -- of a task that was set aside: the lane of the limit that was full
  add column limited_by text;

-- What was set aside, one lane per limit; no claim has to walk past it.
create index tasks_limited on foothold.tasks (handler, limited_by, priority, run_at, id)
  where status = 'waiting' and waiting_for = 'limit';

-- A limit's lane is its kind and value in one word: key:gigachat.
create function foothold.lanes_of(handler text, tenant text, limit_key text) returns text[] language sql immutable as $$
  select array_remove(array['agent:' || split_part(handler, '@', 1), 'tenant:' || nullif(tenant, ''), 'key:' || limit_key], null)
$$;

-- What runs now, counted: there is no counter that could leak. As many rows as the workers have slots are read.
create function foothold.running_lanes() returns table (lane text, running int) language sql stable as $$
  select l.lane, count(*)::int from foothold.tasks t cross join lateral unnest(foothold.lanes_of(t.handler, t.tenant, t.limit_key)) l(lane)
  where t.status = 'processing' group by l.lane
$$;

-- How many more may start; null where there is no limit.
create function foothold.lane_room(lane text, running int) returns int language sql stable as $$
  select least(l.concurrency - running,
    l.rate - (select count(*)::int from unnest(l.starts) s where s > foothold.clock() - l.period_ms * interval '1 ms'))
  from foothold.limits l
  where l.kind = split_part(lane, ':', 1) and l.value in ('*', substr(lane, strpos(lane, ':') + 1))
  order by l.value = '*' limit 1
$$;

-- The room that each of these lanes has, under a lock that the caller's transaction keeps: of all claims one decides about
-- a lane at a time. Volatile, so that the count after the locks is a statement of its own and sees what was committed
-- before them. A lane without a limit is left out; one without room, or about which another claim decides, has none; nor
-- have those behind the first \`needed\`, so that claims do not stand in one another's way.
create function foothold.take_lanes(asked text[], needed int) returns table (lane text, room int) language plpgsql volatile as $$
#variable_conflict use_column
declare
  limited text[];
  open text[];
  held text[];
begin
  limited := array(
    select u.lane from unnest(asked) with ordinality u(lane, n)
    where exists (select 1 from foothold.limits l
                  where l.kind = split_part(u.lane, ':', 1) and l.value in ('*', substr(u.lane, strpos(u.lane, ':') + 1)))
    group by u.lane order by min(u.n));
  if limited = '{}' then return; end if;
  -- What is full by a first look need not be locked.
  open := array(
    with running as materialized (select r.lane, r.running from foothold.running_lanes() r)
    select l.lane from unnest(limited) with ordinality l(lane, n) left join running r on r.lane = l.lane
    where foothold.lane_room(l.lane, coalesce(r.running, 0)) > 0
    order by l.n limit needed);
  -- Nobody waits for anybody, and no more than 1,024 locks exist.
  held := array(select o.lane from unnest(open) o(lane)
                where pg_try_advisory_xact_lock(hashtext('foothold_limits'), hashtext(o.lane) & 1023));
  return query
    with running as materialized (select r.lane, r.running from foothold.running_lanes() r)
    select l.lane, case when l.lane = any (held) then greatest(0, foothold.lane_room(l.lane, coalesce(r.running, 0))) else 0 end
    from unnest(limited) l(lane) left join running r on r.lane = l.lane;
end $$;

create view foothold.limit_view as
  select kind, value, concurrency, rate, period_ms, set_at, set_by from foothold.limits;
`,
  },
  {
    version: 8,
    name: 'children',
    breaking: false,
    sql: `-- Child tasks and approvals: what a task waits for beside time, signals and doubts.

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
`,
  },
  {
    version: 9,
    name: 'schedules',
    breaking: false,
    sql: `-- What is to be submitted again and again. Workers reckon when (cron and time zones are the library's); the row says what
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
`,
  },
  {
    version: 10,
    name: 'changed-code',
    breaking: false,
    sql: `-- Deploys of changed code. What the code of a release refuses waits as \`code\`, without a slot and off the claim's index,
-- for a worker of a release that has not refused it, or for a person.
alter table foothold.tasks
  -- releases whose code has refused it since a person last moved it; null: none
  add column refused_by text[],
  -- what the schema made of the input is what it makes of that again: a worker checks it anew, whatever its schema has become
  add column input_stable boolean not null default false,
  -- the version it was submitted for, where the code of another version has gone on with it; \`handler\` names that one
  add column begun_version int;

create index tasks_refused on foothold.tasks (handler, run_at, id) where status = 'waiting' and waiting_for = 'code';
`,
  },
  {
    version: 11,
    name: 'turns',
    breaking: false,
    sql: `-- Tenants take turns. By itself: an index looks at every row, and two in one migration would hold up claims twice as long.

-- False for what was there before: else the index would have to sort a million rows while nothing can be claimed.
alter table foothold.tasks add column takes_turns boolean not null default false;
alter table foothold.tasks alter column takes_turns set default true;

-- Who among the tenants has something pending, whatever a million tasks of one of them lie before it.
create index tasks_turns on foothold.tasks (handler, priority, tenant, run_at, id)
  where status = 'pending' and not suspect and takes_turns and tenant <> '';
`,
  },
]
