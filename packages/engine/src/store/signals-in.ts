import type { Database } from './database.ts'

export interface SignalInsert {
  readonly taskId: string
  readonly name: string
  /** JSON text. */
  readonly payload: string
  /** Never null: a repeated statement must not store the signal twice. */
  readonly dedupeKey: string
}

export interface SignalAnswer {
  readonly handler: string
  readonly isPending: boolean
}

/**
 * Decided on the locked row itself. A task that waits for its start, or for other code, stays: nothing that comes in is a
 * reason to run before the time that was asked for, nor to be refused once more.
 */
export const WAKE = `wake_seq = wake_seq + 1,
         status = case when status = 'waiting' and coalesce(waiting_for not in ('start', 'code'), true) then 'pending' else status end,
         wake_at = case when waiting_for in ('start', 'code') then wake_at end,
         waiting_for = case when waiting_for in ('start', 'code') then waiting_for end`

/**
 * SIGNAL: the task's row first, the signal from it. A worker that is about to wait either sees the signal or fails on
 * wake_seq. Null: there is no task, or it has ended.
 */
export async function storeSignal(db: Database, signal: SignalInsert): Promise<SignalAnswer | null> {
  const rows = await db.run<SignalAnswer>(
    `with t as (
       update foothold.tasks set ${WAKE}
       where id = $1 and status in ('pending', 'processing', 'waiting', 'dead_letter')
       returning id, handler, status),
     s as (
       insert into foothold.signals (task_id, name, payload, dedupe_key, created_at)
       select t.id, $2, $3::json, $4, foothold.clock() from t
       on conflict (task_id, name, dedupe_key) do nothing)
     select t.handler, t.status = 'pending' as "isPending" from t`,
    [signal.taskId, signal.name, signal.payload, signal.dedupeKey],
    { doing: 'sending a signal' },
  )
  return rows[0] ?? null
}

/** What a refused signal met: the task's end may have come after an earlier try of the same statement had landed. */
export async function readRefusal(
  db: Database,
  { taskId, name, dedupeKey }: Omit<SignalInsert, 'payload'>,
): Promise<{ readonly status: string; readonly isStored: boolean } | null> {
  const rows = await db.run<{ status: string; isStored: boolean }>(
    `select t.status, exists (select 1 from foothold.signals s where s.task_id = t.id and s.name = $2 and s.dedupe_key = $3) as "isStored"
     from foothold.tasks t where t.id = $1`,
    [taskId, name, dedupeKey],
    { doing: 'sending a signal' },
  )
  return rows[0] ?? null
}
