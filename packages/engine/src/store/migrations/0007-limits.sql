-- How much of an agent, of a tenant or of a limit key may run at once, and how much of it may start per period. The value
-- '*' stands for each one that has no row of its own.
create table foothold.limits (
  kind text not null check (kind in ('agent', 'tenant', 'key')),
  value text not null,
  concurrency int check (concurrency > 0),
  rate int check (rate > 0),
  period_ms int check (period_ms > 0),
  -- of the last period: the newest starts, at most `rate` of them. Written by the claim, under the limit's lock
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
-- have those behind the first `needed`, so that claims do not stand in one another's way.
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
