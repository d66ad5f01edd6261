import { randomUUID } from 'node:crypto'
import pg from 'pg'
import { afterAll } from 'vitest'
import { z } from 'zod'
import { type Client, createClient } from '../../src/client/client.ts'
import { Meter } from '../../src/metrics/meter.ts'
import { agent } from '../../src/protocol/agent.ts'
import { encode } from '../../src/protocol/codec.ts'
import type { TaskId } from '../../src/protocol/task-context.ts'
import { claimTasks } from '../../src/store/claim.ts'
import { type Database, openDatabase } from '../../src/store/database.ts'
import { createNotifier, type Notifier } from '../../src/store/notify.ts'
import { completeTask, deadLetterTask, parkTask, type Wait } from '../../src/store/settle.ts'
import { type Fence, type StepWrite, storeChunks, storeSteps } from '../../src/store/steps.ts'
import { registerHandlers, registerWorker } from '../../src/store/workers.ts'
import type { TestDatabase } from '../../src/testing/database.ts'
import { engineDatabase } from '../test-database.ts'

/** One database, one client, and a hand that does to tasks what a worker does, one statement at a time. */
export interface World extends AsyncDisposable {
  /** Of a role that may create nothing: the engine's. */
  readonly url: string
  readonly ownerUrl: string
  readonly db: Database
  /** Sees every session of the server, and calls what only the owner may. */
  readonly owner: Database
  readonly notifier: Notifier
  readonly client: Client
  /** A session beside ours: looks, holds locks, opens transactions. */
  readonly sql: pg.Client
  readonly hand: Hand
}

export const support = agent({
  name: 'support',
  version: 3,
  input: z.object({ text: z.string(), urgent: z.boolean().default(false) }),
  run: async (_task, request) => ({ answer: request.text }),
})

/** One database per test file, emptied for each test: an eighth of the time of a new one. */
export function worlds(): () => Promise<World> {
  let ground: Promise<Ground> | undefined
  afterAll(async () => {
    const { sql, db, owner, database } = (await ground) ?? {}
    await sql?.end()
    await owner?.close()
    await db?.close()
    await database?.drop()
  })
  return async () => {
    ground ??= breakGround()
    const { database, db, owner, sql } = await ground
    // The test before may have failed inside a transaction.
    await sql.query('rollback')
    await sql.query(
      `truncate foothold.tasks, foothold.task_payloads, foothold.dedupe, foothold.workers, foothold.agents,
         foothold.agent_steps, foothold.children, foothold.attempts, foothold.signals, foothold.stream_chunks,
         foothold.alerts, foothold.alert_groups, foothold.alert_deliveries`,
    )
    const notifier = createNotifier(db)
    const client = createClient({ db, notifier, meter: new Meter() })
    return {
      url: database.url,
      ownerUrl: database.ownerUrl,
      db,
      owner,
      notifier,
      client,
      sql,
      hand: await hire(db),
      [Symbol.asyncDispose]() {
        client.stopWatching()
        notifier.close()
        return Promise.resolve()
      },
    }
  }
}

interface Ground {
  readonly database: TestDatabase
  readonly db: Database
  readonly owner: Database
  readonly sql: pg.Client
}

async function breakGround(): Promise<Ground> {
  const database = await engineDatabase()
  const sql = new pg.Client({ connectionString: database.ownerUrl })
  sql.on('error', () => {})
  await sql.connect()
  return {
    database,
    sql,
    db: openDatabase({ url: database.url, poolSize: 10 }),
    owner: openDatabase({ url: database.ownerUrl, poolSize: 2 }),
  }
}

export interface Hand {
  readonly workerId: string
  /** Claims this task, which must be the next one of its handler. */
  claim(id: TaskId, handler?: string): Promise<Fence>
  complete(fence: Fence, output: unknown): Promise<void>
  deadLetter(fence: Fence, reason: string): Promise<void>
  park(fence: Fence, wait: Partial<Wait> & Pick<Wait, 'waitingFor'>): Promise<boolean>
  step(fence: Fence, step: Partial<StepWrite> & Pick<StepWrite, 'key'>): Promise<void>
  /** `$started` as a channel: the try has begun. */
  chunk(fence: Fence, chunk: { key: string; tries: number; seq: number; text: string; channel?: string }): Promise<void>
}

async function hire(db: Database): Promise<Hand> {
  const workerId = `машина:1:1:${randomUUID()}`
  const never = new AbortController().signal
  const options = { doing: 'testing' }
  const registration = { name: 'support', deadlineMs: 900_000, hasDeadLetterHandler: false }
  await registerHandlers(
    db,
    [
      { ...registration, handler: 'support@2', version: 2 },
      { ...registration, handler: 'support@3', version: 3, deadlineMs: 600_000 },
    ],
    never,
  )
  await registerWorker(
    db,
    {
      id: workerId,
      release: 'r1',
      handlers: ['support@3'],
      concurrency: 5,
      heartbeatMs: 5_000,
      leaseMs: 600_000,
      hasLifeline: false,
    },
    never,
  )
  return {
    workerId,
    async claim(id, handler = 'support@3') {
      const { claimed } = await claimTasks(db, {
        workerId,
        claimId: randomUUID(),
        handlers: [handler],
        limit: 1,
        oldestFirst: false,
        kind: 'pending',
      })
      if (claimed[0]?.id !== id) throw new Error(`claimed ${JSON.stringify(claimed)} instead of ${id}`)
      return { taskId: id, attempt: claimed[0].attempt, workerId }
    },
    async complete(fence, output) {
      if (!(await completeTask(db, fence, encode(output, 'output'), options))) throw new Error('not completed')
    },
    async deadLetter(fence, reason) {
      const error = encode({ code: 'STEP_FAILED', message: 'не вышло', reason }, 'error')
      await deadLetterTask(db, fence, { reason, error, detail: 'не вышло', failures: 1 }, options)
    },
    async park(fence, wait) {
      const seen = await db.run<{ wake_seq: number }>(
        'select wake_seq from foothold.tasks where id = $1',
        [fence.taskId],
        options,
      )
      const wakeSeqSeen = seen[0]?.wake_seq as number
      const rest = { wakeSeqSeen, wakeInMs: null, reason: null, detail: null, failures: 0, branches: [] }
      return parkTask(db, fence, { ...rest, ...wait }, options)
    },
    async step(fence, step) {
      const write: StepWrite = {
        taskId: fence.taskId,
        attempt: fence.attempt,
        kind: 'step',
        version: 1,
        status: 'completed',
        tries: 1,
        retryable: true,
        refusals: 0,
        output: null,
        error: null,
        usage: null,
        dueInMs: null,
        doubtInMs: null,
        startedAgoMs: 0,
        ...step,
      }
      const answers = await storeSteps(db, workerId, [write], { ...options, waitForLocks: true })
      if (answers[0]?.stored !== true) throw new Error(`step ${step.key} was not stored`)
    },
    async chunk({ taskId, attempt }, { text, channel = 'text', ...chunk }) {
      await storeChunks(db, [{ taskId, attempt, channel, chunk: encode(text, 'chunk'), ...chunk }], options)
    },
  }
}

/** Resolves when so many statements with this text in them wait for a lock of another session. */
export async function untilWaiting(world: World, text: string, count: number = 1): Promise<void> {
  for (;;) {
    const waiting = await world.owner.run(
      `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and query like $1`,
      [`%${text}%`],
      { doing: 'testing' },
    )
    if (waiting.length >= count) return
  }
}
