import type { Database, RunOptions } from './database.ts'
import { pausesOf } from './pauses.ts'

/** The workers table: signs of life, and the verdict that one is lost. A lost worker never becomes active again. */

export interface WorkerRegistration {
  readonly id: string
  readonly release: string
  readonly handlers: readonly string[]
  readonly concurrency: number
  readonly heartbeatMs: number
  readonly leaseMs: number
  readonly hasLifeline: boolean
}

export interface HandlerRegistration {
  readonly handler: string
  readonly name: string
  readonly version: number
  readonly deadlineMs: number
  readonly hasDeadLetterHandler: boolean
}

/**
 * A new worker counts as steady two heartbeats after its start, not a whole lease: whoever is alive renews within that
 * time, and the only worker of a system, restarted, must not wait longer than the lease to find its predecessor's tasks.
 */
export async function registerWorker(db: Database, worker: WorkerRegistration, signal: AbortSignal): Promise<void> {
  await db.run(
    `insert into foothold.workers (id, release, handlers, concurrency, status, started_at, last_heartbeat_at, lease_ms, lease_until, steady_since,
       has_lifeline)
     select $1, $2, $3, $4, 'active', c, c, $5::int, c + $5 * interval '1 ms', c - $6 * interval '1 ms', $7 from foothold.clock() c
     on conflict (id) do nothing`,
    [
      worker.id,
      worker.release,
      worker.handlers,
      worker.concurrency,
      worker.leaseMs,
      worker.leaseMs - 2 * worker.heartbeatMs,
      worker.hasLifeline,
    ],
    { doing: 'registering a worker', patienceMs: Number.POSITIVE_INFINITY, signal },
  )
}

export async function registerHandlers(
  db: Database,
  handlers: readonly HandlerRegistration[],
  signal: AbortSignal,
): Promise<void> {
  await db.run(
    `insert into foothold.agents as a (handler, name, version, deadline_ms, has_dead_letter_handler, registered_at)
     select *, foothold.clock() from unnest($1::text[], $2::text[], $3::int[], $4::int[], $5::boolean[])
     on conflict (handler) do update
       set deadline_ms = excluded.deadline_ms, has_dead_letter_handler = excluded.has_dead_letter_handler
       where (a.deadline_ms, a.has_dead_letter_handler) is distinct from (excluded.deadline_ms, excluded.has_dead_letter_handler)`,
    [
      handlers.map((h) => h.handler),
      handlers.map((h) => h.name),
      handlers.map((h) => h.version),
      handlers.map((h) => h.deadlineMs),
      handlers.map((h) => h.hasDeadLetterHandler),
    ],
    { doing: "registering a worker's agents", patienceMs: Number.POSITIVE_INFINITY, signal },
  )
}

/**
 * HEARTBEAT, sent by the worker's own thread. $1 worker, $2 running, $3 heartbeatMs, $4 leaseMs, $5 hasLifeline,
 * $6 loopLagMs, $7 rssBytes. No row: the worker was declared lost. A worker whose heartbeats were late is unsteady from now on, whatever made them late.
 */
export const HEARTBEAT = `
  update foothold.workers set
    steady_since = case when last_heartbeat_at between foothold.clock() - 2 * $3 * interval '1 ms' and foothold.clock()
                        then steady_since else foothold.clock() end,
    last_heartbeat_at = foothold.clock(), lease_until = foothold.clock() + $4 * interval '1 ms', running = $2,
    has_lifeline = $5, loop_lag_ms = $6, rss_bytes = $7
  where id = $1 and status in ('active', 'draining')
  returning status`

/** PING: what this worker holds in the database's eyes; also how it learns of cancels, signals and pauses. */
export const PING: string = `
  select t.id, t.attempt, t.claim_id as "claimId", t.wake_seq as "wakeSeq",
         t.cancel_requested_at is not null as "isCancelRequested",
         exists (${pausesOf({ handler: 't.handler', tenant: 't.tenant', release: '(select release from foothold.workers where id = $1)' })}) as "isPaused"
  from foothold.tasks t where t.worker_id = $1 and t.status = 'processing'`

export interface PingRow {
  readonly id: string
  readonly attempt: number
  readonly claimId: string | null
  readonly wakeSeq: number
  readonly isCancelRequested: boolean
  readonly isPaused: boolean
}

/** What the database counts as held by this worker. */
export async function readHeld(db: Database, workerId: string, options: RunOptions): Promise<readonly PingRow[]> {
  return db.run<PingRow>(PING, [workerId], options)
}

/** The channel on which pending tasks are announced; the payload is the handler. */
export const PENDING_CHANNEL = 'foothold_pending'

export async function markDraining(db: Database, workerId: string, patienceMs: number): Promise<void> {
  await db.run(
    `update foothold.workers set status = 'draining', draining_since = foothold.clock() where id = $1 and status = 'active'`,
    [workerId],
    {
      doing: 'telling that a worker drains',
      patienceMs,
    },
  )
}

export async function markStopped(db: Database, workerId: string, patienceMs: number): Promise<void> {
  await db.run(
    `update foothold.workers set status = 'stopped', running = 0 where id = $1 and status in ('active', 'draining')`,
    [workerId],
    { doing: 'telling that a worker stopped', patienceMs },
  )
}

/** Marks every row in `d` (id, status); only SWEEP takes its tasks. */
export const DECLARED_LOST = `
  update foothold.workers w set status = 'lost', lost_while = d.status,
    lost_running = (select count(*) from foothold.tasks t where t.worker_id = d.id and t.status = 'processing')
  from d where w.id = d.id
  returning w.id`

/**
 * REAP only marks workers. A reaper trusts its own experience: one whose own heartbeats were not steady for a lease
 * declares nobody lost, since after a stall, an outage or a clock jump nobody could renew. A lease further away than
 * any renewal could set it was written by a clock that has been set back since.
 */
export async function reapWorkers(
  db: Database,
  reaper: { readonly workerId: string; readonly heartbeatMs: number; readonly leaseMs: number },
): Promise<readonly { readonly id: string }[]> {
  return db.run<{ id: string }>(
    `with ok as materialized (
       select 1 from foothold.workers
       where id = $1 and status in ('active', 'draining')
         and steady_since <= foothold.clock() - $3 * interval '1 ms'
         and last_heartbeat_at between foothold.clock() - 2 * $2 * interval '1 ms' and foothold.clock()),
     d as materialized (
       select id, status from foothold.workers
       where status in ('active', 'draining')
         and (lease_until < foothold.clock() or lease_until > foothold.clock() + 2 * lease_ms * interval '1 ms')
         and exists (select 1 from ok)
       order by id limit 10 for update skip locked)
     ${DECLARED_LOST}`,
    [reaper.workerId, reaper.heartbeatMs, reaper.leaseMs],
    { doing: 'looking for lost workers', patienceMs: 0 },
  )
}
