import type { Queryable } from '../protocol/task-context.ts'
import type { Database } from './database.ts'

/**
 * SUBMIT. The id is the caller's, so that the same statement may be sent again after a lost answer: it inserts nothing,
 * and whoever reads the dedupe key then finds its own id.
 */

export interface TaskInsert {
  readonly id: string
  readonly agent: string
  readonly handler: string
  readonly tenant: string
  readonly dedupe: { readonly key: string; readonly bodyHash: string; readonly days: number } | null
  readonly limitKey: string | null
  /** 0 is the most urgent. */
  readonly priority: number
  /** JSON text. */
  readonly input: string
  readonly isInputChecked: boolean
  /** Its schema makes the same of what is stored. */
  readonly isInputStable: boolean
  readonly runAt: Date | null
  readonly deadline: { readonly at: Date } | { readonly afterMs: number }
}

/** `nothing`: the key is taken, or an earlier try of this statement landed. */
export type InsertAnswer = 'pending' | 'waiting' | 'nothing'

/** How long a key stands where its source says nothing else. */
export const DEDUPE_DAYS = 30

const insertText = (onConflict: string): string => `
  with at as materialized (select foothold.clock() as now),
  d as (
    insert into foothold.dedupe as k (agent, tenant, key, task_id, body_hash, expires_at)
    select $2::text, $4::text, $5::text, $1::uuid, $6::text, at.now + $13::float8 * interval '1 day' from at where $5::text is not null
    on conflict (agent, tenant, key) do ${onConflict}
    returning 1),
  t as (
    insert into foothold.tasks (id, agent, handler, tenant, status, waiting_for, wake_at, priority, run_at, input_checked, input_stable,
      deadline_ms, deadline_at, created_at, limit_key)
    select $1::uuid, $2::text, $3::text, $4::text,
      case when $10::timestamptz > at.now then 'waiting' else 'pending' end,
      case when $10::timestamptz > at.now then 'start' end,
      case when $10::timestamptz > at.now then $10::timestamptz end,
      $7::smallint, greatest($10::timestamptz, at.now), $9::boolean, $14::boolean, $11::int, $12::timestamptz, at.now, $15::text
    from at where $5::text is null or exists (select 1 from d)
    on conflict (id) do nothing
    returning id, status),
  p as (insert into foothold.task_payloads (task_id, input) select t.id, $8::json from t)
  select t.status from t`

// A key in use is not locked, so that a long transaction of one producer does not hold up the others.
const INSERT = insertText('nothing')
const INSERT_OVER_EXPIRED = insertText(
  'update set task_id = excluded.task_id, body_hash = excluded.body_hash, expires_at = excluded.expires_at where k.expires_at <= foothold.clock()',
)

export async function insertTask(
  sql: Queryable,
  task: TaskInsert,
  options: { readonly replaceExpiredKey: boolean },
): Promise<InsertAnswer> {
  const { rows } = await sql.query(options.replaceExpiredKey ? INSERT_OVER_EXPIRED : INSERT, [
    task.id,
    task.agent,
    task.handler,
    task.tenant,
    task.dedupe?.key ?? null,
    task.dedupe?.bodyHash ?? null,
    task.priority,
    task.input,
    task.isInputChecked,
    task.runAt?.toISOString() ?? null,
    'afterMs' in task.deadline ? task.deadline.afterMs : null,
    'at' in task.deadline ? task.deadline.at.toISOString() : null,
    task.dedupe?.days ?? null,
    task.isInputStable,
    task.limitKey,
  ])
  return (rows[0] as { status: 'pending' | 'waiting' } | undefined)?.status ?? 'nothing'
}

export interface DedupeEntry {
  readonly taskId: string
  readonly bodyHash: string
  readonly isExpired: boolean
}

/** A statement of its own: the one that met the conflict may be older than the row it met. */
export async function readDedupe(
  sql: Queryable,
  { agent, tenant, key }: { readonly agent: string; readonly tenant: string; readonly key: string },
): Promise<DedupeEntry | null> {
  const { rows } = await sql.query(
    `select task_id as "taskId", body_hash as "bodyHash", expires_at <= foothold.clock() as "isExpired"
     from foothold.dedupe where agent = $1 and tenant = $2 and key = $3`,
    [agent, tenant, key],
  )
  return (rows[0] as DedupeEntry | undefined) ?? null
}

/** Where a task submitted by name goes: the newest version that any worker has registered. */
export async function newestHandler(
  sql: Queryable,
  agent: string,
): Promise<{ readonly handler: string; readonly deadlineMs: number } | null> {
  const { rows } = await sql.query(
    `select handler, deadline_ms as "deadlineMs" from foothold.agents where name = $1 order by version desc limit 1`,
    [agent],
  )
  return (rows[0] as { handler: string; deadlineMs: number } | undefined) ?? null
}

/** Our own connections as what a caller's transaction is: one statement at a time, repeated when the answer is lost. */
export function queryableOf(db: Database, doing: string): Queryable {
  return {
    async query(text, values = []) {
      const rows = await db.run(text, values, { doing })
      return { rows, rowCount: rows.length }
    },
  }
}
