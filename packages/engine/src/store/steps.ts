import type { StepView } from '../protocol/views.ts'
import { IS_CHILD_OVER, type LoadedSignal, type LoadedStep, STEP_AS_JSON } from './claim.ts'
import type { Database, RunOptions } from './database.ts'

/**
 * Steps are written under the fence: (task, attempt, worker, processing), with the task row locked. A plain SELECT in
 * place of the lock lets a zombie's write through: it reads the row before the takeover commits and inserts after it.
 *
 * A batch never waits: a held row is skipped, and what did not come back is sent again alone, without SKIP LOCKED; only
 * that answer means "not ours".
 */

export interface StepWrite {
  readonly taskId: string
  readonly attempt: number
  readonly key: string
  readonly kind: StepView['kind']
  readonly version: number
  readonly status: StepView['status']
  readonly tries: number
  readonly retryable: boolean
  readonly refusals: number
  /** JSON texts. */
  readonly output: string | null
  readonly error: string | null
  readonly usage: string | null
  readonly dueInMs: number | null
  readonly doubtInMs: number | null
  readonly startedAgoMs: number
}

export interface StepWriteAnswer {
  readonly held: boolean
  /** Held but not stored: another result stands already; read it in a new statement. */
  readonly stored: boolean
}

const text = (skipLocked: boolean): string => `
  with v as materialized (
    select * from unnest($2::uuid[], $3::int[], $4::text[], $5::text[], $6::int[], $7::text[], $8::int[], $9::boolean[],
      $10::int[], $11::json[], $12::json[], $13::json[], $14::float8[], $15::float8[], $16::float8[])
      with ordinality v(id, attempt, key, kind, version, status, tries, retryable, refusals, output, error, usage, due_in_ms, doubt_in_ms, started_ago_ms, n)),
  f as materialized (
    select t.id, t.attempt from foothold.tasks t
    where t.id = any($2::uuid[]) and t.worker_id = $1 and t.status = 'processing'
    order by t.id for no key update${skipLocked ? ' skip locked' : ''}),
  i as (
    insert into foothold.agent_steps as s (task_id, key, kind, version, status, tries, retryable, attempt, worker_id, refusals,
      output, error, usage, due_at, doubt_until, started_at, finished_at)
    select v.id, v.key, v.kind, v.version, v.status, v.tries, v.retryable, v.attempt, $1, v.refusals, v.output, v.error, v.usage,
      foothold.clock() + v.due_in_ms * interval '1 ms', foothold.clock() + v.doubt_in_ms * interval '1 ms',
      foothold.clock() - v.started_ago_ms * interval '1 ms', foothold.clock()
    from v join f using (id, attempt)
    on conflict (task_id, key) do update set
      kind = excluded.kind, version = excluded.version, status = excluded.status, tries = excluded.tries,
      retryable = excluded.retryable, attempt = excluded.attempt, worker_id = excluded.worker_id, refusals = excluded.refusals,
      output = excluded.output, error = excluded.error, usage = coalesce(excluded.usage, s.usage), due_at = excluded.due_at,
      doubt_until = excluded.doubt_until, finished_at = excluded.finished_at
      where s.status in ('intent', 'failed', 'waiting')
    returning s.task_id, s.key)
  select f.id is not null as held, i.key is not null as stored
  from v left join f using (id, attempt) left join i on i.task_id = v.id and i.key = v.key
  order by v.n`

const BATCH = text(true)
const ALONE = text(false)

function valuesOf(workerId: string, writes: readonly StepWrite[]): unknown[] {
  return [
    workerId,
    writes.map((w) => w.taskId),
    writes.map((w) => w.attempt),
    writes.map((w) => w.key),
    writes.map((w) => w.kind),
    writes.map((w) => w.version),
    writes.map((w) => w.status),
    writes.map((w) => w.tries),
    writes.map((w) => w.retryable),
    writes.map((w) => w.refusals),
    writes.map((w) => w.output),
    writes.map((w) => w.error),
    writes.map((w) => w.usage),
    writes.map((w) => w.dueInMs),
    writes.map((w) => w.doubtInMs),
    writes.map((w) => w.startedAgoMs),
  ]
}

/** At most one row per (task, key). */
export async function storeSteps(
  db: Database,
  workerId: string,
  writes: readonly StepWrite[],
  options: RunOptions & { readonly waitForLocks: boolean },
): Promise<readonly StepWriteAnswer[]> {
  return db.run<StepWriteAnswer>(options.waitForLocks ? ALONE : BATCH, valuesOf(workerId, writes), options)
}

/** The same statement for a transaction that is under way: the last one before its COMMIT. */
export function storeStepStatement(workerId: string, write: StepWrite): { text: string; values: unknown[] } {
  return { text: ALONE, values: valuesOf(workerId, [write]) }
}

export async function readStep(
  db: Database,
  taskId: string,
  key: string,
  options: RunOptions,
): Promise<LoadedStep | null> {
  const rows = await db.run<{ step: LoadedStep }>(
    `select ${STEP_AS_JSON} as step from foothold.agent_steps s where s.task_id = $1 and s.key = $2`,
    [taskId, key],
    options,
  )
  return rows[0]?.step ?? null
}

export interface Fence {
  readonly taskId: string
  readonly attempt: number
  readonly workerId: string
}

/** Of a statement that names the task `t` and has the fence as its first three values. */
export const FENCE = `t.id = $1 and t.attempt = $2 and t.worker_id = $3 and t.status = 'processing'`

export interface IntentWrite {
  readonly key: string
  readonly version: number
  readonly tries: number
  readonly request: string
  readonly idempotencyKey: string
  /** The send's time limit and the receiver's lag: until then the request may still take effect. */
  readonly doubtForMs: number
  readonly promise: EffectPromise
}

/** What its author said an unknown outcome means; stored for those who explain, the code itself decides. */
export interface EffectPromise {
  /** Counted from the step's start: so long the same request goes out again under the same key. */
  readonly keyWindowMs: number | null
  readonly onDoubt: 'find' | 'repeat' | 'stop' | 'ask'
}

/** INTENT: committed before the request leaves. Not inserted: a row stands already, read it. */
export async function storeIntent(
  db: Database,
  fence: Fence,
  intent: IntentWrite,
  options: RunOptions,
): Promise<{ readonly held: boolean; readonly inserted: boolean }> {
  const rows = await db.run<{ held: boolean; inserted: boolean }>(
    `with f as materialized (select t.id from foothold.tasks t where ${FENCE} for no key update),
     i as (
       insert into foothold.agent_steps (task_id, key, kind, version, status, tries, attempt, worker_id, idempotency_key, request, doubt_until,
         on_doubt, key_until, started_at)
       select f.id, $4, 'effect', $5, 'intent', $6, $2, $3, $7, $8::json, foothold.clock() + $9 * interval '1 ms',
         $10, foothold.clock() + $11::float8 * interval '1 ms', foothold.clock() from f
       on conflict do nothing returning 1)
     select exists (select 1 from f) as held, exists (select 1 from i) as inserted`,
    [
      fence.taskId,
      fence.attempt,
      fence.workerId,
      intent.key,
      intent.version,
      intent.tries,
      intent.idempotencyKey,
      intent.request,
      intent.doubtForMs,
      intent.promise.onDoubt,
      intent.promise.keyWindowMs,
    ],
    options,
  )
  return rows[0] as { held: boolean; inserted: boolean }
}

/** TAKE OVER an effect that was tried before: from here on it is this attempt's, about to be sent again. */
export async function takeOverIntent(
  db: Database,
  fence: Fence,
  intent: Omit<IntentWrite, 'version'>,
  options: RunOptions,
): Promise<boolean> {
  const rows = await db.run(
    `with f as materialized (select t.id from foothold.tasks t where ${FENCE} for no key update)
     update foothold.agent_steps s set status = 'intent', attempt = $2, worker_id = $3, tries = $5, idempotency_key = $6, request = $8::json,
       retryable = true, error = null, due_at = null, doubt_until = foothold.clock() + $7 * interval '1 ms',
       on_doubt = $9, key_until = s.started_at + $10::float8 * interval '1 ms'
     from f where s.task_id = f.id and s.key = $4 and s.status in ('intent', 'failed')
     returning s.key`,
    [
      fence.taskId,
      fence.attempt,
      fence.workerId,
      intent.key,
      intent.tries,
      intent.idempotencyKey,
      intent.doubtForMs,
      intent.request,
      intent.promise.onDoubt,
      intent.promise.keyWindowMs,
    ],
    options,
  )
  return rows.length > 0
}

/** A signal is consumed and the step that waited for it stored in one statement. False: it was not ours to take. */
export async function consumeSignal(
  db: Database,
  fence: Fence,
  wait: { readonly key: string; readonly signalId: string; readonly output: string },
  options: RunOptions,
): Promise<boolean> {
  const rows = await db.run(
    `with f as materialized (select t.id from foothold.tasks t where ${FENCE} for no key update),
     g as (
       update foothold.signals set consumed_by = $4
       where id = $5::bigint and task_id = $1 and consumed_by is null and exists (select 1 from f) returning task_id)
     insert into foothold.agent_steps as s (task_id, key, kind, status, attempt, worker_id, output, started_at, finished_at)
     select task_id, $4, 'signal', 'completed', $2, $3, $6::json, foothold.clock(), foothold.clock() from g
     on conflict (task_id, key) do update set status = 'completed', output = excluded.output, attempt = excluded.attempt,
       worker_id = excluded.worker_id, due_at = null, finished_at = excluded.finished_at
       where s.status = 'waiting'
     returning s.key`,
    [fence.taskId, fence.attempt, fence.workerId, wait.key, wait.signalId, wait.output],
    options,
  )
  return rows.length > 0
}

export interface Wakes {
  readonly wakeSeq: number
  readonly isCancelRequested: boolean
  readonly signals: readonly LoadedSignal[]
  /** Keys of steps that others have settled: their child has ended, a person has answered. */
  readonly settled: readonly string[]
}

/** What came in for a task that wanted to wait; null when the attempt is no longer ours. */
export async function readWakes(db: Database, fence: Fence, options: RunOptions): Promise<Wakes | null> {
  const rows = await db.run<Wakes>(
    `select t.wake_seq as "wakeSeq", t.cancel_requested_at is not null as "isCancelRequested",
            coalesce((select json_agg(json_build_object('id', g.id::text, 'name', g.name, 'payload', g.payload::text) order by g.id)
                      from foothold.signals g where g.task_id = t.id and g.consumed_by is null), '[]') as signals,
            array(select s.key from foothold.agent_steps s
                  where s.task_id = t.id and (s.kind = 'approval' and s.status = 'completed' or ${IS_CHILD_OVER})) as settled
     from foothold.tasks t where ${FENCE}`,
    [fence.taskId, fence.attempt, fence.workerId],
    options,
  )
  return rows[0] ?? null
}

export interface ChunkWrite {
  readonly taskId: string
  readonly key: string
  readonly attempt: number
  readonly tries: number
  readonly seq: number
  readonly channel: string
  readonly chunk: string
}

/** Chunks carry their attempt instead of a fence: watchers ignore those of a superseded one. */
export async function storeChunks(db: Database, chunks: readonly ChunkWrite[], options: RunOptions): Promise<void> {
  await db.run(
    `insert into foothold.stream_chunks (task_id, key, attempt, tries, seq, channel, chunk, created_at)
     select v.*, foothold.clock()
     from unnest($1::uuid[], $2::text[], $3::int[], $4::int[], $5::int[], $6::text[], $7::json[]) v
     on conflict do nothing`,
    [
      chunks.map((c) => c.taskId),
      chunks.map((c) => c.key),
      chunks.map((c) => c.attempt),
      chunks.map((c) => c.tries),
      chunks.map((c) => c.seq),
      chunks.map((c) => c.channel),
      chunks.map((c) => c.chunk),
    ],
    options,
  )
}
