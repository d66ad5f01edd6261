import { randomUUID } from 'node:crypto'
import { describe, expect, onTestFinished, test } from 'vitest'
import { claimTasks, loadTasks } from '../../src/store/claim.ts'
import type { ClaimedId } from '../../src/store/claimable.ts'
import { type Database, openDatabase } from '../../src/store/database.ts'
import { completeTask, handOverTask, parkTask } from '../../src/store/settle.ts'
import { storeSignal } from '../../src/store/signals-in.ts'
import { type Fence, type StepWrite, storeSteps } from '../../src/store/steps.ts'
import { readCandidates, takeCandidates } from '../../src/store/sweep.ts'
import { reapWorkers, registerWorker } from '../../src/store/workers.ts'
import { databaseOn, lockIsAwaited, without } from './held-sessions.ts'
import { agentOf, setup, type World } from './world.ts'

/**
 * Two operations on one task, forced into the order in which they hurt, by transactions held open. Each guarantee stands
 * beside its negative control: the same interleaving with the guard cut out of the statement goes wrong.
 */

const HANDLERS = ['test@1']
const options = { doing: 'testing', patienceMs: 0 }

interface Ground extends World {
  readonly db: Database
  /** A worker row and its fence on the one task that was submitted. */
  claimedBy(workerId: string): Promise<Fence>
  register(workerId: string): Promise<void>
  claim(workerId: string, db?: Database): Promise<readonly ClaimedId[]>
  task(): Promise<{ status: string; attempt: number; worker_id: string | null }>
  steps(): Promise<readonly { key: string; attempt: number }[]>
  declareLost(workerId: string): Promise<void>
}

async function ground(): Promise<Ground> {
  const world = await setup()
  const db = openDatabase({ url: world.url, poolSize: 5 })
  onTestFinished(() => db.close())
  await world.foothold.submit(
    agentOf(async () => null),
    null,
  )
  const register = (id: string): Promise<void> =>
    registerWorker(
      db,
      // Each of a release of its own: what one hands over, the others may claim at once.
      {
        id,
        release: `release of ${id}`,
        handlers: HANDLERS,
        concurrency: 1,
        heartbeatMs: 5_000,
        leaseMs: 20_000,
        hasLifeline: false,
      },
      new AbortController().signal,
    )
  const claim = async (workerId: string, on: Database = db): Promise<readonly ClaimedId[]> => {
    const { claimed } = await claimTasks(on, {
      workerId,
      claimId: randomUUID(),
      handlers: HANDLERS,
      limit: 1,
      oldestFirst: false,
      kind: 'pending',
    })
    return claimed
  }
  return {
    ...world,
    db,
    register,
    claim,
    async claimedBy(workerId) {
      await register(workerId)
      const [claimed] = await claim(workerId)
      if (claimed === undefined) throw new Error('nothing was claimed')
      return { taskId: claimed.id, attempt: claimed.attempt, workerId }
    },
    async task() {
      const [row] = await world.query<{ status: string; attempt: number; worker_id: string | null }>(
        'select status, attempt, worker_id from foothold.tasks',
      )
      return row as { status: string; attempt: number; worker_id: string | null }
    },
    steps: () => world.query('select key, attempt from foothold.agent_steps'),
    async declareLost(workerId) {
      await world.query(
        `update foothold.workers set status = 'lost', lost_while = 'active', lost_running = 1 where id = $1`,
        [workerId],
      )
    },
  }
}

function stepWrite({ taskId, attempt }: Fence, key = 'generate'): StepWrite {
  return {
    taskId,
    attempt,
    key,
    kind: 'step',
    version: 1,
    status: 'completed',
    tries: 1,
    retryable: true,
    refusals: 0,
    output: '"ответ"',
    error: null,
    usage: null,
    dueInMs: null,
    doubtInMs: null,
    startedAgoMs: 0,
  }
}

const store = (db: Database, fence: Fence): ReturnType<typeof storeSteps> =>
  storeSteps(db, fence.workerId, [stepWrite(fence)], { ...options, waitForLocks: true })

const STEP_LOCK = 'for no key update'

describe('checkpoint and takeover', () => {
  async function takeoverFirst(db: (at: Ground) => Database): Promise<Ground> {
    const at = await ground()
    const fence = await at.claimedBy('old')
    await at.declareLost('old')
    const candidates = await readCandidates(at.db)
    const held = await at.session()
    await held.query('begin')
    await takeCandidates(databaseOn(held), candidates)

    const checkpoint = store(db(at), fence)
    await Promise.race([lockIsAwaited(at), checkpoint])
    await held.query('commit')
    await checkpoint
    return at
  }

  test('a zombie whose task is being taken stores nothing', async () => {
    const at = await takeoverFirst(({ db }) => db)

    expect(await at.steps()).toEqual([])
    expect(await at.task()).toMatchObject({ status: 'pending' })
  })

  test('control: without the row lock its step slips in', async () => {
    const at = await takeoverFirst(({ db }) => without(db, STEP_LOCK))

    expect(await at.steps()).toEqual([{ key: 'generate', attempt: 1 }])
  })

  async function checkpointFirst(cut: (db: Database) => Database): Promise<{ at: Ground; taken: number }> {
    const at = await ground()
    const fence = await at.claimedBy('old')
    await at.declareLost('old')
    const candidates = await readCandidates(at.db)
    const held = await at.session()
    await held.query('begin')
    await store(cut(databaseOn(held)), fence)

    const { swept } = await takeCandidates(at.db, candidates)
    await held.query('commit')
    return { at, taken: swept.length }
  }

  test('a task whose step is being stored is not taken before the step stands', async () => {
    const { at, taken } = await checkpointFirst((db) => db)

    expect(taken).toBe(0)
    await takeCandidates(at.db, await readCandidates(at.db))
    await at.register('new')
    const [claimed] = await at.claim('new')
    const [loaded] = await loadTasks(at.db, 'new', [claimed?.id ?? ''], new AbortController().signal)
    expect(loaded?.steps.map(({ key }) => key)).toEqual(['generate'])
  })

  test('control: without the row lock it is taken while its step is on the way', async () => {
    expect((await checkpointFirst((db) => without(db, STEP_LOCK))).taken).toBe(1)
  })
})

describe('claim and reap', () => {
  const reap = (db: Database): ReturnType<typeof reapWorkers> =>
    reapWorkers(db, { workerId: 'reaper', heartbeatMs: 5_000, leaseMs: 20_000 })

  /** Its lease is over by the reaper's clock while its claim is under way. */
  async function overdue(): Promise<Ground> {
    const at = await ground()
    await at.register('late')
    await at.register('reaper')
    await at.query(`update foothold.workers set steady_since = now() - interval '1 minute' where id = 'reaper'`)
    return at
  }

  async function reapFirst(cut: (db: Database) => Database): Promise<readonly unknown[]> {
    const at = await overdue()
    const held = await at.session()
    await held.query('begin')
    await held.query(`update foothold.workers set lease_until = now() - interval '1 s' where id = 'late'`)
    const lost = await reap(databaseOn(held))
    expect(lost).toEqual([{ id: 'late' }])

    const claim = at.claim('late', cut(at.db))
    await Promise.race([lockIsAwaited(at), claim])
    await held.query('commit')
    return claim
  }

  test('a worker that is being declared lost claims nothing', async () => {
    expect(await reapFirst((db) => db)).toEqual([])
  })

  test('control: without the lock on its own row it claims', async () => {
    expect(await reapFirst((db) => without(db, 'for key share'))).toHaveLength(1)
  })

  async function claimFirst(cut: (db: Database) => Database): Promise<readonly unknown[]> {
    const at = await overdue()
    const held = await at.session()
    await held.query('begin')
    expect(await at.claim('late', cut(databaseOn(held)))).toHaveLength(1)
    await at.query(`update foothold.workers set lease_until = now() - interval '1 s' where id = 'late'`)

    const lost = await reap(at.db)
    await held.query('commit')
    return lost
  }

  test('a worker is not declared lost between its claim and its commit, and its heartbeat is not held up', async () => {
    expect(await claimFirst((db) => db)).toEqual([])
  })

  test('control: without the lock on its own row it is', async () => {
    expect(await claimFirst((db) => without(db, 'for key share'))).toEqual([{ id: 'late' }])
  })
})

describe('complete and sweep', () => {
  const SWEEP_LOCK = 'order by t.id for no key update skip locked'
  const complete = (db: Database, fence: Fence): Promise<boolean> => completeTask(db, fence, '"готово"', options)

  async function completeFirst(cut: (db: Database) => Database): Promise<Ground> {
    const at = await ground()
    const fence = await at.claimedBy('old')
    await at.declareLost('old')
    const candidates = await readCandidates(at.db)
    const held = await at.session()
    await held.query('begin')
    expect(await complete(databaseOn(held), fence)).toBe(true)

    const sweep = takeCandidates(cut(at.db), candidates)
    await Promise.race([lockIsAwaited(at), sweep])
    await held.query('commit')
    await sweep
    return at
  }

  test('a task that is being completed is not swept', async () => {
    expect(await (await completeFirst((db) => db)).task()).toMatchObject({ status: 'completed' })
  })

  test('control: a sweep that does not lock what it decides on undoes the completion', async () => {
    const at = await completeFirst((db) => without(db, SWEEP_LOCK))

    expect(await at.task()).toMatchObject({ status: 'pending' })
  })

  async function sweepFirst(cut: (db: Database) => Database): Promise<{ at: Ground; isCompleted: boolean }> {
    const at = await ground()
    const fence = await at.claimedBy('old')
    await at.declareLost('old')
    const held = await at.session()
    await held.query('begin')
    await takeCandidates(databaseOn(held), await readCandidates(at.db))

    const completion = complete(cut(at.db), fence)
    await Promise.race([lockIsAwaited(at), completion])
    await held.query('commit')
    return { at, isCompleted: await completion }
  }

  test('a task that is being swept is not completed by its old worker', async () => {
    const { at, isCompleted } = await sweepFirst((db) => db)

    expect(isCompleted).toBe(false)
    expect(await at.task()).toMatchObject({ status: 'pending' })
  })

  test('control: without the fence it is', async () => {
    const { at } = await sweepFirst((db) =>
      without(db, `and worker_id = $3 and status = 'processing'`, 'and $3::text is not null'),
    )

    expect(await at.task()).toMatchObject({ status: 'completed' })
  })
})

describe('claim with steps and handover', () => {
  /**
   * The claim's snapshot is taken, then it waits for its own worker's row. Meanwhile another worker claims the task,
   * stores a step and hands over. The claim goes on, and locks the row as it is now.
   */
  async function handoverBehindTheSnapshot(
    cut: (db: Database) => Database,
  ): Promise<{ at: Ground; claimed: readonly { id: string; steps?: number }[] }> {
    const at = await ground()
    await at.register('late')
    const held = await at.session()
    await held.query('begin')
    await held.query(`select 1 from foothold.workers where id = 'late' for update`)
    const claim = at.claim('late', cut(at.db))
    await lockIsAwaited(at)

    const fence = await at.claimedBy('quick')
    await store(at.db, fence)
    await handOverTask(at.db, fence, { reason: 'graceful_shutdown', detail: null }, options)
    await held.query('commit')
    return { at, claimed: await claim }
  }

  test('the successor sees the step that was stored after its claim began', async () => {
    const { at, claimed } = await handoverBehindTheSnapshot((db) => db)

    const [task] = await loadTasks(at.db, 'late', [claimed[0]?.id ?? ''], new AbortController().signal)
    expect(task).toMatchObject({ attempt: 2, steps: [{ key: 'generate', output: '"ответ"' }] })
  })

  test('control: read in the claim itself the step is missing', async () => {
    const answer = `json_build_object('id', id, 'attempt', attempt`
    const inTheSame = `${answer}, 'steps', (select count(*) from foothold.agent_steps s where s.task_id = t.id)`
    const { claimed } = await handoverBehindTheSnapshot((db) => without(db, answer, inTheSame))

    expect(claimed).toMatchObject([{ attempt: 2, steps: 0 }])
  })

  test('a task that is being handed over is claimed only after the handover, with its steps', async () => {
    const at = await ground()
    const fence = await at.claimedBy('old')
    await at.register('new')
    const held = await at.session()
    await held.query('begin')
    await store(databaseOn(held), fence)
    await handOverTask(databaseOn(held), fence, { reason: 'graceful_shutdown', detail: null }, options)

    expect(await at.claim('new')).toEqual([])
    await held.query('commit')
    expect(await at.claim('new')).toMatchObject([{ attempt: 2 }])
    expect(await at.steps()).toHaveLength(1)
  })
})

describe('wait and signal', () => {
  const signal = (db: Database, fence: Fence): ReturnType<typeof storeSignal> =>
    storeSignal(db, { taskId: fence.taskId, name: 'paid', payload: '{"amount":7}', dedupeKey: 'k' })
  const park = (db: Database, fence: Fence): Promise<boolean> =>
    parkTask(
      db,
      fence,
      {
        wakeSeqSeen: 0,
        waitingFor: 'signal',
        wakeInMs: null,
        reason: null,
        detail: null,
        failures: 0,
        branches: [{ key: 'payment', kind: 'signal', dueInMs: null }],
      },
      options,
    )

  async function signalFirst(cut: (db: Database) => Database): Promise<{ at: Ground; isParked: boolean }> {
    const at = await ground()
    const fence = await at.claimedBy('worker')
    const held = await at.session()
    await held.query('begin')
    await signal(databaseOn(held), fence)

    const wait = park(cut(at.db), fence)
    await lockIsAwaited(at)
    await held.query('commit')
    return { at, isParked: await wait }
  }

  test('a task does not go to sleep over a signal that is being sent', async () => {
    const { at, isParked } = await signalFirst((db) => db)

    expect(isParked).toBe(false)
    expect(await at.task()).toMatchObject({ status: 'processing' })
  })

  test('control: without wake_seq in the guard it sleeps for ever', async () => {
    const { at, isParked } = await signalFirst((db) => without(db, 'and wake_seq = $4', 'and $4::int is not null'))

    expect(isParked).toBe(true)
    expect(await at.task()).toMatchObject({ status: 'waiting' })
  })

  async function waitFirst(cut: (db: Database) => Database): Promise<Ground> {
    const at = await ground()
    const fence = await at.claimedBy('worker')
    const held = await at.session()
    await held.query('begin')
    expect(await park(databaseOn(held), fence)).toBe(true)

    const sending = signal(cut(at.db), fence)
    await lockIsAwaited(at)
    await held.query('commit')
    await sending
    return at
  }

  test('a signal sent while its task goes to sleep wakes it', async () => {
    expect(await (await waitFirst((db) => db)).task()).toMatchObject({ status: 'pending' })
  })

  test('control: decided on what was read before the lock, it does not', async () => {
    const stale = `status = (select case when o.status = 'waiting' then 'pending' else tasks.status end from foothold.tasks o where o.id = $1)`
    const at = await waitFirst((db) =>
      without(
        db,
        `status = case when status = 'waiting' and coalesce(waiting_for not in ('start', 'code'), true) then 'pending' else status end`,
        stale,
      ),
    )

    expect(await at.task()).toMatchObject({ status: 'waiting' })
  })
})
