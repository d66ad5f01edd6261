import { randomUUID } from 'node:crypto'
import { describe, expect, onTestFinished, test } from 'vitest'
import { cancelChildren, startChild, tellParents } from '../../src/store/children.ts'
import { claimTasks } from '../../src/store/claim.ts'
import { type Database, openDatabase } from '../../src/store/database.ts'
import { cancelTask, completeTask, deadLetterTask, parkTask } from '../../src/store/settle.ts'
import { requestCancel, resumeTask } from '../../src/store/steer.ts'
import type { Fence } from '../../src/store/steps.ts'
import { readCandidates, takeCandidates } from '../../src/store/sweep.ts'
import { registerWorker } from '../../src/store/workers.ts'
import { databaseOn, lockIsAwaited, without } from './held-sessions.ts'
import { agentOf, setup, type World } from './world.ts'

/** Parent and child, forced into the order in which they hurt; each beside the same order without the guard. */

const options = { doing: 'testing', patienceMs: 0 }

interface Ground extends World {
  readonly db: Database
  readonly parent: Fence
  start(db?: Database): ReturnType<typeof startChild>
  /** Starts the child and claims it. */
  child(): Promise<Fence>
  /** Opens a transaction and does this in it; gives what commits it. */
  holding(work: (db: Database) => Promise<unknown>): Promise<() => Promise<unknown>>
  statuses(): Promise<Record<string, string>>
  open(): Promise<number>
}

async function ground(): Promise<Ground> {
  const world = await setup()
  const db = openDatabase({ url: world.url, poolSize: 5 })
  onTestFinished(() => db.close())
  await world.foothold.submit(
    agentOf(async () => null),
    null,
  )
  const never = new AbortController().signal
  const handlers = ['test@1', 'child@1']
  const worker = {
    id: 'worker',
    release: 'r',
    handlers,
    concurrency: 9,
    heartbeatMs: 5_000,
    leaseMs: 20_000,
    hasLifeline: false,
  }
  await registerWorker(db, worker, never)
  const claim = async (handler: string): Promise<Fence> => {
    const request = { workerId: 'worker', claimId: randomUUID(), handlers: [handler], limit: 1 }
    const { claimed: ids } = await claimTasks(db, { ...request, oldestFirst: false, kind: 'pending' })
    const [claimed] = ids
    if (claimed === undefined) throw new Error(`nothing of ${handler} was claimed`)
    return { taskId: claimed.id, attempt: claimed.attempt, workerId: 'worker' }
  }
  const parent = await claim('test@1')
  const start = (on: Database = db): ReturnType<typeof startChild> =>
    startChild(
      on,
      parent,
      {
        key: 'дитя',
        agent: 'child',
        handler: 'child@1',
        tenant: null,
        priority: null,
        isInputChecked: true,
        isInputStable: true,
        deadlineMs: 900_000,
        input: 'null',
      },
      options,
    )
  return {
    ...world,
    db,
    parent,
    start,
    async child() {
      await start()
      return claim('child@1')
    },
    async holding(work) {
      const session = await world.session()
      await session.query('begin')
      await work(databaseOn(session))
      return () => session.query('commit')
    },
    async statuses() {
      const rows = await world.query<{ agent: string; status: string }>('select agent, status from foothold.tasks')
      return Object.fromEntries(rows.map(({ agent, status }) => [agent, status]))
    },
    open: async () => (await world.query('select 1 from foothold.children')).length,
  }
}

const wait = (db: Database, fence: Fence): Promise<boolean> =>
  parkTask(
    db,
    fence,
    { wakeSeqSeen: 0, waitingFor: 'child', wakeInMs: null, reason: null, detail: null, failures: 0, branches: [] },
    options,
  )
const complete = (db: Database, fence: Fence): Promise<boolean> => completeTask(db, fence, '"готово"', options)
const dies = (db: Database, fence: Fence): Promise<unknown> =>
  deadLetterTask(
    db,
    fence,
    { reason: 'step_failed', error: '{"code":"X","message":"нет"}', detail: '', failures: 1 },
    options,
  )

describe("a child's end and its parent's wait", () => {
  async function endFirst(cut: (db: Database) => Database): Promise<{ at: Ground; isParked: boolean }> {
    const at = await ground()
    const child = await at.child()
    await complete(at.db, child)
    const commit = await at.holding((db) => tellParents(db, child.taskId, options))

    const parking = wait(cut(at.db), at.parent)
    await lockIsAwaited(at)
    await commit()
    return { at, isParked: await parking }
  }

  test('a parent does not go to sleep over an end that it is being told of', async () => {
    const { at, isParked } = await endFirst((db) => db)

    expect(isParked).toBe(false)
    expect(await at.statuses()).toEqual({ test: 'processing', child: 'completed' })
  })

  test('control: without wake_seq in the guard it sleeps, and nobody wakes it', async () => {
    const { at, isParked } = await endFirst((db) => without(db, 'and wake_seq = $4', 'and $4::int is not null'))

    expect(isParked).toBe(true)
    expect(await tellParents(at.db, null, options)).toMatchObject({ count: 0 })
    expect(await at.statuses()).toEqual({ test: 'waiting', child: 'completed' })
  })

  async function waitFirst(cut: (db: Database) => Database): Promise<Ground> {
    const at = await ground()
    const child = await at.child()
    await complete(at.db, child)
    const commit = await at.holding((db) => wait(db, at.parent))

    const telling = tellParents(cut(at.db), child.taskId, options)
    await Promise.race([lockIsAwaited(at), telling])
    await commit()
    await telling
    return at
  }

  test('an end that is told while the parent goes to sleep wakes it', async () => {
    const at = await waitFirst((db) => db)

    expect(await at.statuses()).toEqual({ test: 'pending', child: 'completed' })
    expect(await at.open()).toBe(0)
  })

  test('control: decided on what was read before the lock, it does not', async () => {
    const stale = `status = (select case when o.status = 'waiting' then 'pending' else tasks.status end from foothold.tasks o where o.id = tasks.id)`
    const at = await waitFirst((db) =>
      without(
        db,
        `status = case when status = 'waiting' and coalesce(waiting_for not in ('start', 'code'), true) then 'pending' else status end`,
        stale,
      ),
    )

    expect(await at.statuses()).toMatchObject({ test: 'waiting' })
  })

  test('a parent that goes to sleep after the end, and before anybody told of it, is woken by the next round', async () => {
    const at = await ground()
    const child = await at.child()
    await complete(at.db, child)
    expect(await wait(at.db, at.parent)).toBe(true)

    // Whoever ended the child is dead.
    expect(await tellParents(at.db, null, options)).toEqual({ handlers: ['test@1'], count: 1, hasCancelled: false })

    expect(await at.statuses()).toMatchObject({ test: 'pending' })
    expect(await tellParents(at.db, null, options)).toEqual({ handlers: [], count: 0, hasCancelled: false })
  })

  test('a parent whose row is held does not keep the round from telling others', async () => {
    const at = await ground()
    const child = await at.child()
    await complete(at.db, child)
    const commit = await at.holding((db) => wait(db, at.parent))

    expect(await tellParents(at.db, null, options)).toMatchObject({ count: 0 })
    await commit()
    expect(await tellParents(at.db, null, options)).toMatchObject({ count: 1 })
  })
})

describe('a child that a person lets go on while its end is being told', () => {
  async function resumeFirst(cut: (db: Database) => Database): Promise<Ground> {
    const at = await ground()
    const child = await at.child()
    await dies(at.db, child)
    const commit = await at.holding((db) => resumeTask(db, child.taskId, child.attempt))

    await tellParents(cut(at.db), null, options)
    await commit()
    return at
  }

  test('has its next end still to be told', async () => {
    const at = await resumeFirst((db) => db)

    expect(await at.statuses()).toMatchObject({ child: 'pending' })
    expect(await at.open()).toBe(1)
  })

  test('control: without the lock on its row its next end is told to nobody', async () => {
    const at = await resumeFirst((db) =>
      without(db, 'for no key update of c, t skip locked', 'for no key update of c skip locked'),
    )

    expect(await at.open()).toBe(0)
  })

  test('the other way round it is put back', async () => {
    const at = await ground()
    const child = await at.child()
    await dies(at.db, child)
    const commit = await at.holding((db) => tellParents(db, child.taskId, options))

    const resuming = resumeTask(at.db, child.taskId, child.attempt)
    await lockIsAwaited(at)
    await commit()
    await resuming

    expect(await at.statuses()).toMatchObject({ child: 'pending' })
    expect(await at.open()).toBe(1)
  })
})

describe('a parent that is cancelled', () => {
  async function parentCancelled(at: Ground): Promise<void> {
    await requestCancel(at.db, at.parent.taskId, 'хватит')
    expect(await cancelTask(at.db, at.parent, options)).toBe(true)
  }

  test('leaves a child that is just completing completed', async () => {
    const at = await ground()
    const child = await at.child()
    const commit = await at.holding((db) => complete(db, child))
    await parentCancelled(at)

    const cancelling = cancelChildren(at.db, at.parent.taskId)
    await lockIsAwaited(at)
    await commit()
    await cancelling

    expect(await at.statuses()).toEqual({ test: 'cancelled', child: 'completed' })
    expect(await tellParents(at.db, null, options)).toMatchObject({ count: 1, hasCancelled: false })
  })

  test('does not undo the completion of a child that was asked to stop', async () => {
    const at = await ground()
    const child = await at.child()
    await parentCancelled(at)
    const commit = await at.holding((db) => cancelChildren(db, at.parent.taskId))

    const completing = complete(at.db, child)
    await lockIsAwaited(at)
    await commit()

    // Who comes first wins: nothing had stopped it yet.
    expect(await completing).toBe(true)
    expect(await at.statuses()).toEqual({ test: 'cancelled', child: 'completed' })
  })

  test('starts no child once its cancel was asked for', async () => {
    const at = await ground()
    const commit = await at.holding((db) => requestCancel(db, at.parent.taskId, 'хватит'))

    const starting = at.start()
    await lockIsAwaited(at)
    await commit()

    expect(await starting).toEqual({ isHeld: true, isCancelRequested: true, childId: null })
    expect(await at.statuses()).toEqual({ test: 'processing' })
  })

  test('has a child that it was just starting cancelled as well', async () => {
    const at = await ground()
    const commit = await at.holding((db) => at.start(db))
    const cancelling = parentCancelled(at)
    await lockIsAwaited(at)
    await commit()
    await cancelling

    expect(await tellParents(at.db, null, options)).toMatchObject({ hasCancelled: true })
    await cancelChildren(at.db, null)

    expect(await at.statuses()).toEqual({ test: 'cancelled', child: 'cancelled' })
    expect(await tellParents(at.db, null, options)).toEqual({ handlers: [], count: 1, hasCancelled: false })
  })
})

describe('a parent that is taken from its worker while it starts a child', () => {
  async function takenFirst(cut: (db: Database) => Database): Promise<Ground> {
    const at = await ground()
    await at.query(`update foothold.workers set status = 'lost', lost_while = 'active', lost_running = 1`)
    const candidates = await readCandidates(at.db)
    const commit = await at.holding((db) => takeCandidates(db, candidates))

    const starting = at.start(cut(at.db))
    await Promise.race([lockIsAwaited(at), starting])
    await commit()
    await starting
    return at
  }

  test('starts none', async () => {
    expect(await (await takenFirst((db) => db)).statuses()).toEqual({ test: 'pending' })
  })

  test('control: without the row lock the zombie starts one', async () => {
    const at = await takenFirst((db) => without(db, 'for no key update'))

    expect(await at.statuses()).toEqual({ test: 'pending', child: 'pending' })
  })

  test('a second start under the same key finds the first child', async () => {
    const at = await ground()
    const commit = await at.holding((db) => at.start(db))

    const again = at.start()
    await lockIsAwaited(at)
    await commit()

    expect(await again).toMatchObject({ isHeld: true, childId: null })
    expect(await at.query(`select 1 from foothold.tasks where agent = 'child'`)).toHaveLength(1)
  })
})
