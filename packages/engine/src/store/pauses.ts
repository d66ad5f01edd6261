import type { Pause, PauseKind } from '../protocol/pauses.ts'
import type { Database, RunOptions } from './database.ts'

/**
 * Pauses: agents, tenants and releases that must not run for now.
 * 1. The claim reads them in its own statement (store/claim.ts): once a pause is committed, nothing of it is claimed.
 * 2. Workers hear of what they run already by their ping (store/workers.ts); the announcement only makes it come sooner.
 * 3. An agent's or release's backlog costs a claim nothing: its handlers are not looked at. A tenant's tasks lie among
 *    those of others in the same index, so they are set aside from the head of the queue, a bounded number at a time.
 */

/** Announces that pauses have changed; the payload says nothing. */
export const PAUSES_CHANNEL = 'foothold_pauses'

/** Bounds one statement's locks. */
const MOVED_MAX = 500
/** How far into a queue a round looks for tasks to set aside: what lies further behind troubles no claim yet. */
const HEAD_MAX = 2_000

/** For SQL: the pauses that hold a task, or what a worker does for it. Each argument is an expression. */
export function pausesOf(task: {
  readonly handler: string
  readonly tenant: string
  readonly release?: string
}): string {
  const release = task.release === undefined ? '' : ` or p.kind = 'release' and p.value = ${task.release}`
  return `select p.* from foothold.pauses p
    where p.kind = 'agent' and p.value = split_part(${task.handler}, '@', 1) or p.kind = 'tenant' and p.value = ${task.tenant}${release}`
}

export interface PauseRow {
  readonly kind: PauseKind
  readonly value: string
  readonly since: Date | string
  readonly reason: string | null
  readonly paused_by: string | null
}

export function pauseOf({ kind, value, since, reason, paused_by: by }: PauseRow): Pause {
  return { kind, value, since: new Date(since), reason, by }
}

/** PAUSE. Paused already: the first pause stands, and with it since when and why. */
export async function storePause(
  db: Database,
  pause: {
    readonly kind: PauseKind
    readonly value: string
    readonly reason: string | null
    readonly by: string | null
  },
): Promise<Pause> {
  const rows = await db.run<PauseRow>(
    `insert into foothold.pauses (kind, value, since, reason, paused_by) values ($1, $2, foothold.clock(), $3, $4)
     on conflict (kind, value) do update set value = excluded.value returning *`,
    [pause.kind, pause.value, pause.reason, pause.by],
    { doing: 'pausing' },
  )
  return pauseOf(rows[0] as PauseRow)
}

/** UNPAUSE. False: it was not paused. */
export async function removePause(db: Database, kind: PauseKind, value: string): Promise<boolean> {
  const rows = await db.run(`delete from foothold.pauses where kind = $1 and value = $2 returning 1`, [kind, value], {
    doing: 'ending a pause',
  })
  return rows.length > 0
}

export async function readPauses(db: Database): Promise<readonly Pause[]> {
  const rows = await db.run<PauseRow>(`select * from foothold.pauses order by kind, value`, [], {
    doing: 'listing pauses',
  })
  return rows.map(pauseOf)
}

/** Whether anything of this name has ever been seen here. A name that comes later may be paused before it comes. */
export async function isKnownHere(db: Database, kind: PauseKind, value: string): Promise<boolean> {
  const found = {
    agent: `select 1 from foothold.agents where name = $1 limit 1`,
    tenant: `select 1 from foothold.tasks where tenant <> '' and tenant = $1 limit 1`,
    release: `select 1 from foothold.workers where release = $1 limit 1`,
  }[kind]
  return (await db.run(found, [value], { doing: 'looking for what is to be paused' })).length > 0
}

/**
 * The clock of the agent's deadline stands still in a pause: what was claimed before and could not go on begins it anew.
 * A deadline that the producer gave stays. Called while the pause still holds, so that nothing is claimed with the old one.
 */
export async function renewDeadlines(db: Database, kind: PauseKind, value: string): Promise<void> {
  if (kind === 'release') return
  const isOfIt = kind === 'agent' ? `split_part(handler, '@', 1) = $1` : `tenant = $1`
  for (const status of ['pending', 'waiting']) {
    for (let after: string | null = '00000000-0000-0000-0000-000000000000'; after !== null; ) {
      const rows: readonly { readonly last: string | null }[] = await db.run(
        `with c as materialized (
           select id from foothold.tasks
           where status = $2 and id > $3 and ${isOfIt} and deadline_ms is not null and deadline_at is not null
           order by id limit ${MOVED_MAX} for no key update),
         t as (update foothold.tasks t set deadline_at = null from c where t.id = c.id)
         select max(id::text) as last from c`,
        [value, status, after],
        { doing: 'renewing deadlines' },
      )
      after = rows[0]?.last ?? null
    }
  }
}

/** SET ASIDE: pending tasks of paused tenants at the head of this worker's queues. Gives how many. */
export async function setAside(db: Database, workerId: string): Promise<number> {
  const rows = await db.run<{ count: number }>(
    `with p as materialized (
       select coalesce(array_agg(value), '{}') as tenants from foothold.pauses where kind = 'tenant'),
     c as materialized (
       select t.id from foothold.workers w cross join lateral unnest(w.handlers) h(handler) cross join lateral (
         select id from (
           select id, tenant from foothold.tasks
           where status = 'pending' and not suspect and handler = h.handler
           order by priority, run_at, id limit ${HEAD_MAX}) head
         where tenant = any ((select tenants from p)::text[]) limit ${MOVED_MAX}) t
       where w.id = $1 limit ${MOVED_MAX}),
     l as materialized (
       select id from foothold.tasks where id in (select id from c) and status = 'pending' order by id for no key update skip locked),
     t as (update foothold.tasks t set status = 'waiting', waiting_for = 'pause', wake_at = null from l where t.id = l.id returning 1)
     select count(*)::int as count from t`,
    [workerId],
    { doing: 'setting paused tasks aside', patienceMs: 0 },
  )
  return rows[0]?.count ?? 0
}

/** TAKE BACK: what was set aside and is not paused any more is pending again, in its old place. Gives the handlers. */
export async function takeBack(
  db: Database,
): Promise<{ readonly count: number; readonly handlers: readonly string[] }> {
  const rows = await db.run<{ count: number; handlers: string[] }>(
    `with recursive d(tenant) as (
       (select min(tenant) from foothold.tasks where status = 'waiting' and waiting_for = 'pause')
       union all
       select (select min(t.tenant) from foothold.tasks t where t.status = 'waiting' and t.waiting_for = 'pause' and t.tenant > d.tenant)
       from d where d.tenant is not null),
     free as materialized (
       select tenant from d
       where tenant is not null and not exists (select 1 from foothold.pauses p where p.kind = 'tenant' and p.value = d.tenant)),
     c as materialized (
       select id from foothold.tasks
       where status = 'waiting' and waiting_for = 'pause' and tenant in (select tenant from free)
       order by id limit ${MOVED_MAX} for no key update skip locked),
     t as (
       update foothold.tasks t set status = 'pending', waiting_for = null,
         deadline_at = case when deadline_ms is null then deadline_at end
       from c where t.id = c.id returning handler)
     select count(*)::int as count, coalesce(array_agg(distinct handler), '{}') as handlers from t`,
    [],
    { doing: 'taking paused tasks back', patienceMs: 0 },
  )
  return rows[0] as { count: number; handlers: string[] }
}

/** For SQL: there may be something to set aside or to take back. */
export const HAS_TENANT_PAUSES = `
  exists (select 1 from foothold.pauses where kind = 'tenant')
  or exists (select 1 from foothold.tasks where status = 'waiting' and waiting_for = 'pause')`

/** An accelerator, in a statement of its own after the commit. */
export async function announcePauses(db: Database, options: RunOptions): Promise<void> {
  await db.run(`select pg_notify('${PAUSES_CHANNEL}', '')`, [], options)
}
