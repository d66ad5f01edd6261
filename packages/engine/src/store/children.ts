import type { TaskStatus } from '../protocol/views.ts'
import type { Database, RunOptions } from './database.ts'
import { WAKE } from './signals-in.ts'
import { requestCancel } from './steer.ts'
import { FENCE, type Fence } from './steps.ts'

/**
 * Child tasks.
 * 1. START CHILD: the parent's row is locked under its fence, the step's row is the one guard against a second child,
 *    and the task, its input and its place in foothold.children come from it. A replay, a new attempt or the same
 *    statement sent again finds the step.
 * 2. The row in foothold.children stands from there until the parent was told of the end. So the end itself is any
 *    statement that ends a task; what must not be lost is found again from the row, whoever died in between.
 * 3. TELL PARENTS locks the child before it believes that it has ended, wakes the parent by wake_seq like a signal, and
 *    takes the row out in the same statement. A child that a person lets go on gets its row back (steer.ts); the lock
 *    makes the two come one after the other.
 * 4. A cancel goes down one row at a time, each with the statement that cancels any task, as soon as it was asked for.
 */

export interface ChildInsert {
  readonly key: string
  readonly agent: string
  readonly handler: string
  /** Null: the parent's own. */
  readonly tenant: string | null
  readonly priority: number | null
  readonly isInputChecked: boolean
  readonly isInputStable: boolean
  readonly deadlineMs: number
  /** JSON text. */
  readonly input: string
}

export interface StartAnswer {
  readonly isHeld: boolean
  /** The parent is to be cancelled: nothing was started. */
  readonly isCancelRequested: boolean
  /** Null: the step stands already, read it. */
  readonly childId: string | null
}

export async function startChild(
  db: Database,
  fence: Fence,
  child: ChildInsert,
  options: RunOptions,
): Promise<StartAnswer> {
  const rows = await db.run<StartAnswer>(
    `with f as materialized (
       select t.id, t.tenant, t.priority, t.cancel_requested_at is not null as is_cancelled from foothold.tasks t
       where ${FENCE} for no key update),
     s as (
       insert into foothold.agent_steps (task_id, key, kind, status, attempt, worker_id, child_id, started_at)
       select f.id, $4, 'child', 'waiting', $2, $3, foothold.new_id(), foothold.clock() from f where not f.is_cancelled
       on conflict (task_id, key) do nothing returning task_id, child_id),
     c as (
       insert into foothold.tasks (id, agent, handler, tenant, status, priority, run_at, input_checked, input_stable, deadline_ms,
         parent_id, parent_key, created_at)
       select s.child_id, $5, $6, coalesce($7, f.tenant), 'pending', coalesce($8::smallint, f.priority), foothold.clock(), $9, $12, $10,
         f.id, $4, foothold.clock() from s join f on f.id = s.task_id
       returning id, parent_id),
     p as (insert into foothold.task_payloads (task_id, input) select c.id, $11::json from c),
     o as (insert into foothold.children (child_id, parent_id) select c.id, c.parent_id from c)
     select exists (select 1 from f) as "isHeld", coalesce((select is_cancelled from f), false) as "isCancelRequested",
       (select child_id from s) as "childId"`,
    [
      fence.taskId,
      fence.attempt,
      fence.workerId,
      child.key,
      child.agent,
      child.handler,
      child.tenant,
      child.priority,
      child.isInputChecked,
      child.deadlineMs,
      child.input,
      child.isInputStable,
    ],
    options,
  )
  return rows[0] as StartAnswer
}

export interface ChildStanding {
  readonly status: TaskStatus
  readonly lastReason: string | null
  readonly cancelReason: string | null
  /** JSON texts. */
  readonly output: string | null
  readonly error: string | null
}

/** Null: somebody has deleted it. */
export async function readChild(db: Database, childId: string, options: RunOptions): Promise<ChildStanding | null> {
  const rows = await db.run<ChildStanding>(
    `select t.status, t.last_reason as "lastReason", t.cancel_reason as "cancelReason", p.output::text as output, p.error::text as error
     from foothold.tasks t join foothold.task_payloads p on p.task_id = t.id where t.id = $1`,
    [childId],
    options,
  )
  return rows[0] ?? null
}

/** Bounds one statement's locks; what is left comes with the next round. */
const TOLD_MAX = 500

const ENDED = `('completed', 'cancelled', 'dead_letter')`
const UNDER_WAY = `('pending', 'processing', 'waiting')`

const tellText = (skipLocked: boolean): string => `
  with r as materialized (
    select c.child_id, c.parent_id from foothold.children c join foothold.tasks t on t.id = c.child_id
    where t.status in ${ENDED} and ($1::uuid is null or c.child_id = $1)
    order by c.child_id limit ${TOLD_MAX} for no key update of c, t skip locked),
  p as materialized (
    select id from foothold.tasks where id in (select parent_id from r) order by id for no key update${skipLocked ? ' skip locked' : ''}),
  w as (
    update foothold.tasks set ${WAKE}
    from p where tasks.id = p.id and status in ('pending', 'processing', 'waiting', 'dead_letter')
    returning handler, status),
  d as (
    delete from foothold.children c using r
    where c.child_id = r.child_id
      and (r.parent_id in (select id from p) or not exists (select 1 from foothold.tasks g where g.id = r.parent_id))
    returning 1)
  select coalesce((select array_agg(distinct handler) from w where status = 'pending'), '{}') as handlers,
    (select count(*)::int from d) as count,
    exists (${toCancelText('1')}) as "hasCancelled"`

const toCancelText = (columns: string): string => `
  select ${columns} from foothold.children c join foothold.tasks p on p.id = c.parent_id join foothold.tasks t on t.id = c.child_id
  where p.cancel_requested_at is not null and p.status in ('processing', 'cancelled')
    and t.status in ${UNDER_WAY} and t.cancel_requested_at is null`

export interface Told {
  /** Of parents that are pending now. */
  readonly handlers: readonly string[]
  readonly count: number
  /** Children of parents that are or shall be cancelled have not been asked. */
  readonly hasCancelled: boolean
}

/** TELL PARENTS. Of the end of this child; null: of every end that nobody has told of. */
export async function tellParents(db: Database, childId: string | null, options: RunOptions): Promise<Told> {
  const rows = await db.run<Told>(tellText(childId === null), [childId], options)
  return rows[0] as Told
}

/** Of these parents that are or shall be cancelled, or of all such; children that were asked already are left out. */
async function readToCancel(
  db: Database,
  parents: readonly string[] | null,
): Promise<readonly { readonly id: string; readonly parentId: string; readonly reason: string | null }[]> {
  return db.run(
    `${toCancelText('t.id, p.id as "parentId", p.cancel_reason as reason')} and ($1::uuid[] is null or p.id = any($1))
     order by t.id limit ${TOLD_MAX}`,
    [parents],
    { doing: 'looking for children of a cancelled task' },
  )
}

/**
 * Cancels what runs below a task that is or shall be cancelled, or below all of them, one row at a time; not only when
 * each has stopped, so that the whole tree learns of it at its next ping.
 */
export async function cancelChildren(db: Database, parentId: string | null): Promise<void> {
  const parents = parentId === null ? null : [parentId]
  for (;;) {
    const children = await readToCancel(db, parents)
    if (children.length === 0) return
    for (const { id, parentId: parent, reason } of children) {
      await requestCancel(
        db,
        id,
        `its parent ${parent} was cancelled${reason === null ? '' : `: ${reason}`}`.slice(0, 500),
      )
      parents?.push(id)
    }
  }
}
