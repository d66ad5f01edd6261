import type { Database } from './database.ts'

/** What a scrape asks about the whole system. It must cost the same in a system with a million tasks as in a small one. */
export interface SystemGauges {
  readonly agents: readonly string[]
  readonly tasks: readonly { readonly agent: string; readonly status: string; readonly count: number }[]
  readonly queues: readonly { readonly agent: string; readonly seconds: number }[]
  readonly workers: readonly { readonly status: string; readonly count: number }[]
}

/** Of each status that has an index; ended tasks are counted by the process that ends them. */
const COUNTED_MAX = 10_000

/**
 * One sub-select per status, so that each rides its own partial index and stops at the limit. The oldest come first, as
 * ids grow with time. A task is ready to run since it was due, its last attempt ended, its wait was over, or a signal
 * came, whichever was last.
 */
export async function readGauges(db: Database): Promise<SystemGauges> {
  const some = (status: string, order = 'order by id'): string =>
    `(select id, agent, status, attempt, run_at from foothold.tasks where status = '${status}' ${order} limit ${COUNTED_MAX})`
  const rows = await db.run<SystemGauges>(
    `with live as materialized (
       ${some('pending')} union all ${some('waiting')} union all ${some('processing', '')} union all ${some('dead_letter')}),
     tasks as (select agent, status, count(*)::int as count from live group by agent, status),
     queues as (
       select l.agent, greatest(0, extract(epoch from foothold.clock() - min(greatest(l.run_at, r.ended_at, r.woken_at, r.signalled_at))))::float8 as seconds
       from live l left join lateral (
         select (select a.ended_at from foothold.attempts a where a.task_id = l.id and a.attempt = l.attempt) as ended_at,
                (select max(coalesce(s.finished_at, case when s.due_at <= foothold.clock() then s.due_at end))
                 from foothold.agent_steps s where s.task_id = l.id) as woken_at,
                (select max(g.created_at) from foothold.signals g where g.task_id = l.id and g.consumed_by is null) as signalled_at
       ) r on l.attempt > 0
       where l.status = 'pending' group by l.agent),
     workers as (
       select status, count(*)::int as count from foothold.workers
       where status in ('active', 'draining') and lease_until > foothold.clock() group by status)
     select coalesce((select json_agg(distinct name) from foothold.agents), '[]') as agents,
            coalesce((select json_agg(tasks) from tasks), '[]') as tasks,
            coalesce((select json_agg(queues) from queues), '[]') as queues,
            coalesce((select json_agg(workers) from workers), '[]') as workers`,
    [],
    { doing: 'reading the gauges', patienceMs: 0 },
  )
  return rows[0] as SystemGauges
}
