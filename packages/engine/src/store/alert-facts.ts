import { type FailedRelease, failedRelease } from '../protocol/alert-release.ts'
import type { AlertCounts, AlertEffect, AlertExample, AlertMessage, AlertRepeat } from '../protocol/alerts.ts'
import type { TaskId } from '../protocol/task-context.ts'
import type { StepView } from '../protocol/views.ts'
import { STANDS } from './alerts.ts'
import type { Database } from './database.ts'
import { dateOrNull, storedErrorOf } from './task-rows.ts'

/** What a message about a group tells. Read for one message at a time, and bounded: a person asks `why` for the rest. */

const EXAMINED_MAX = 1_000
const BEFORE_MAX = 1_000
const SHOWN_MAX = 5
const EXAMPLES_MAX = 3

type Time = Date | string

interface FactsRow extends AlertCounts {
  readonly id: string
  readonly agent: string
  readonly reason: string
  readonly openedAt: Time
  readonly lastAlertAt: Time
  readonly resolvedAt: Time | null
  readonly examined: number
  readonly errors: readonly { readonly step: string | null; readonly error: string | null; readonly tasks: number }[]
  readonly examples: readonly { readonly id: string; readonly tenant: string }[]
  readonly failed: readonly { readonly release: string; readonly tasks: number; readonly startedAt: Time }[]
  readonly completedBefore: FailedRelease['completedBefore']
  readonly effects: readonly AlertEffect[]
  readonly followUps: { readonly completed: number; readonly underWay: number; readonly deadLetters: number }
  readonly followUpEffects: readonly { readonly key: string; readonly done: number }[]
  readonly repeats: readonly { step: string; kind: StepView['kind']; status: string; tasks: number }[]
}

/** All but the commands. Null: there is no such group. */
export async function readAlertFacts(db: Database, groupId: string): Promise<Omit<AlertMessage, 'commands'> | null> {
  const rows = await db.run<FactsRow>(
    `with g as materialized (select * from foothold.alert_groups where id = $1),
     last as materialized (
       select distinct on (a.task_id) a.task_id, a.attempt from foothold.alerts a where a.group_id = $1
       order by a.task_id, a.attempt desc),
     examined as materialized (
       select l.task_id, l.attempt, t.tenant, ${STANDS} and t.attempt = l.attempt as stands
       from last l join foothold.tasks t on t.id = l.task_id
       order by stands desc, l.task_id limit ${EXAMINED_MAX}),
     unfinished as materialized (
       select e.task_id, s.key, s.kind, s.status, s.error::text as error, coalesce(s.finished_at, s.started_at) as at
       from examined e join foothold.agent_steps s on s.task_id = e.task_id
       where e.stands and s.status in ('failed', 'intent', 'unknown')),
     causes as (
       select distinct on (e.task_id) e.task_id, u.key as step, coalesce(u.error, p.error::text) as error
       from examined e join foothold.task_payloads p on p.task_id = e.task_id
         left join unfinished u on u.task_id = e.task_id and u.error is not null
       where e.stands order by e.task_id, u.at desc),
     before as materialized (
       select t.id, t.attempt from foothold.tasks t
       where t.id < (select task_id from last order by task_id limit 1) order by t.id desc limit ${BEFORE_MAX}),
     completed_before as materialized (
       select a.task_id, w.release from before b
         join foothold.attempts a on a.task_id = b.id and a.attempt = b.attempt and a.outcome = 'completed'
         join foothold.tasks t on t.id = b.id join foothold.workers w on w.id = a.worker_id, g
       where t.agent = g.agent and a.ended_at < g.opened_at),
     usual_effects as (
       select s.key from (select task_id from completed_before order by task_id desc limit 20) c
         join foothold.agent_steps s on s.task_id = c.task_id and s.kind = 'effect'
       group by s.key having count(*) > 1),
     effect_counts as (
       select s.key, count(*) filter (where s.status = 'completed')::int as done,
         count(*) filter (where s.status in ('intent', 'unknown'))::int as "inDoubt"
       from examined e join foothold.agent_steps s on s.task_id = e.task_id and s.kind = 'effect'
       group by s.key
       union all select key, 0, 0 from usual_effects),
     follow_ups as materialized (
       select f.id, f.status from examined e join foothold.tasks f on f.parent_id = e.task_id
       where f.handler like '%/dead_letter')
     select g.id::text as id, g.agent, g.reason, g.opened_at as "openedAt", g.last_alert_at as "lastAlertAt",
       g.resolved_at as "resolvedAt", g.tasks as total, g.standing, g.under_way as "underWay", g.completed, g.cancelled,
       (select count(*)::int from examined) as examined,
       ${listOf(`select step, error, count(*)::int as tasks from causes group by step, error order by tasks desc, step limit ${SHOWN_MAX}`)} as errors,
       ${listOf(`select task_id as id, tenant from examined where stands order by task_id limit ${EXAMPLES_MAX}`)} as examples,
       ${listOf(`
         select w.release, count(*)::int as tasks,
           (select min(o.started_at) from foothold.workers o where o.release = w.release) as "startedAt"
         from examined e join foothold.attempts a on a.task_id = e.task_id and a.attempt = e.attempt
           join foothold.workers w on w.id = a.worker_id
         group by w.release order by tasks desc, w.release limit ${SHOWN_MAX}`)} as failed,
       ${listOf(`select release, count(*)::int as tasks from completed_before group by release order by tasks desc, release limit ${SHOWN_MAX}`)} as "completedBefore",
       ${listOf(`
         select key, sum(done)::int as done, sum("inDoubt")::int as "inDoubt" from effect_counts
         group by key order by sum(done + "inDoubt") desc, key limit ${SHOWN_MAX}`)} as effects,
       (select json_build_object('completed', count(*) filter (where status = 'completed'),
          'deadLetters', count(*) filter (where status = 'dead_letter'),
          'underWay', count(*) filter (where status in ('pending', 'processing', 'waiting'))) from follow_ups) as "followUps",
       ${listOf(`
         select s.key, count(*)::int as done from follow_ups f join foothold.agent_steps s on s.task_id = f.id
         where s.kind = 'effect' and s.status = 'completed' group by s.key order by done desc, s.key limit ${SHOWN_MAX}`)} as "followUpEffects",
       ${listOf(`
         select key as step, kind, status, count(*)::int as tasks from unfinished
         group by key, kind, status order by tasks desc, key limit ${SHOWN_MAX}`)} as repeats
     from g`,
    [groupId],
    { doing: 'reading what an alert tells', patienceMs: 0 },
  )
  return rows[0] === undefined ? null : factsOf(rows[0])
}

function listOf(select: string): string {
  return `coalesce((select json_agg(x) from (${select}) x), '[]')`
}

function factsOf(row: FactsRow): Omit<AlertMessage, 'commands'> {
  const { id, agent, reason, total, standing, underWay, completed, cancelled, examined, effects } = row
  const resolvedAt = dateOrNull(row.resolvedAt)
  return {
    id,
    status: resolvedAt === null ? 'open' : 'resolved',
    agent,
    reason,
    since: new Date(row.openedAt),
    lastAt: new Date(row.lastAlertAt),
    resolvedAt,
    tasks: { total, standing, underWay, completed, cancelled },
    examined,
    errors: row.errors.map(({ step, error, tasks }) => ({
      step,
      message: storedErrorOf(error)?.message ?? 'no error was stored',
      tasks,
    })),
    examples: row.examples.map(
      (example): AlertExample => ({
        id: example.id as TaskId,
        tenant: example.tenant === '' ? null : example.tenant,
      }),
    ),
    release: failedRelease(
      row.failed.map((share) => ({ ...share, startedAt: new Date(share.startedAt) })),
      row.completedBefore,
    ),
    effects,
    followUps: followUpsOf(row),
    repeats: row.repeats.map(
      ({ step, kind, status, tasks }): AlertRepeat => ({
        step,
        kind,
        because: status === 'failed' ? 'failed' : 'doubt',
        tasks,
      }),
    ),
  }
}

function followUpsOf({ followUps, followUpEffects }: FactsRow): AlertMessage['followUps'] {
  const { completed, underWay, deadLetters } = followUps
  return completed + underWay + deadLetters === 0
    ? null
    : { completed, underWay, deadLetters, effects: followUpEffects }
}
