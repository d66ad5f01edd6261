import { randomBytes } from 'node:crypto'
import { hostname } from 'node:os'
import { systemClock } from '../lifecycle/clock.ts'
import { onStopSignal } from '../lifecycle/process-signals.ts'
import { sleep } from '../lifecycle/sleep.ts'
import { tolerateStrayRejections } from '../lifecycle/stray-rejections.ts'
import type { Meter } from '../metrics/meter.ts'
import { FootholdError, isFootholdError } from '../protocol/errors.ts'
import type { DrainReport, Logger, Worker, WorkerOptions } from '../protocol/foothold.ts'
import type { TaskId } from '../protocol/task-context.ts'
import { type LoadedTask, loadTasks } from '../store/claim.ts'
import type { ClaimedId } from '../store/claimable.ts'
import type { Database } from '../store/database.ts'
import { LIFELINE_IDLE_MS } from '../store/lifeline.ts'
import { createNotifier, type Notifier } from '../store/notify.ts'
import { announcePending, handOverTask } from '../store/settle.ts'
import { markDraining, markStopped, readHeld, registerHandlers, registerWorker } from '../store/workers.ts'
import { type ChunkWriter, createChunkWriter } from './chunk-writer.ts'
import { type ClaimLoop, startClaimLoop } from './claim-loop.ts'
import { createTaskContext } from './context.ts'
import { Execution } from './execution.ts'
import { agentOfHandler, handlersOf, meteredAgentsOf, registrationsOf } from './handlers.ts'
import { type FromThread, type Heartbeat, startHeartbeat } from './heartbeat.ts'
import { createJournal, type Journal } from './journal.ts'
import { createLease, type Lease } from './lease.ts'
import { type AttemptId, judgePing, nameOf } from './reconcile.ts'
import type { Settled } from './settlement.ts'

/**
 * A worker: claims tasks, runs them, keeps its lease, and on a stop signal drains.
 *
 * - Its id is never used by another process or another life of this one; declared lost, it takes a new id and goes on.
 * - While it drains it claims nothing and starts no step; what still runs at the grace's end is handed over as it is.
 * - Heartbeats end before the row says `stopped`.
 */

const CONCURRENCY = 20
const GRACE_MS = 6_500
const HEARTBEAT_MS = 5_000
/** Of the grace, kept for the last writes. */
const LAST_WRITES_MS = 500
/** For what the application still does after run(); then its open sockets no longer keep the process alive. */
const LINGER_MS = 1_000
/** After the grace, for what the database has not answered; then the sweep has the rest. */
const GIVE_UP_MS = 200
/** For each of the last words to the database; a live one takes a few milliseconds. */
const FAREWELL_MS = 250

const REGISTER_AGAIN_MS = 1_000

export interface Background {
  stop(): Promise<void>
}

export interface WorkerDeps {
  readonly options: WorkerOptions
  /** For the heartbeat's own session. */
  readonly directUrl: string
  readonly logger: Logger
  readonly meter: Meter
  /** Statements of the engine. */
  readonly openDatabase: () => Database
  /** Sessions for task.transaction, never shared with the engine's own statements. */
  readonly openSessions: () => Database
  /** The port that `options.operations` asks for, from before the first claim until the worker has stopped. */
  readonly openOperations: (notReady: () => string | null) => Promise<{ close(): Promise<void> } | null>
  /** The jobs that every worker process does on the side. */
  readonly startMaintenance: (on: { readonly db: Database; readonly workerId: () => string }) => Maintenance
}

export interface Maintenance extends Background {
  /** A worker was declared lost: its tasks wait for nothing. */
  sweepNow(): void
  expectWake(wakeInMs: number | null): void
  /** Something was paused, or is not any more. */
  pausesChanged(): void
}

export function createWorker(deps: WorkerDeps): Worker {
  return new TaskWorker(deps)
}

class TaskWorker implements Worker {
  readonly #deps: WorkerDeps
  readonly #handlers: ReturnType<typeof handlersOf>
  readonly #concurrency: number
  readonly #heartbeatMs: number
  readonly #leaseMs: number
  /** By task and attempt: an attempt that is being settled may meet its successor here. */
  readonly #executions = new Map<string, { readonly execution: Execution; readonly ended: Promise<Settled> }>()
  readonly #giveUp = new AbortController()
  readonly #handedOver: TaskId[] = []
  #leftBehind: readonly TaskId[] = []
  #strangers: ReadonlySet<string> = new Set()
  #id = newWorkerId()
  #status: Worker['status'] = 'new'
  #parts: Parts | null = null
  #starting: Promise<void> | null = null
  #draining: Promise<DrainReport> | null = null
  #graceEndsAtMs = Number.POSITIVE_INFINITY
  #graceShortened: () => void = () => undefined
  #databaseAheadMs = 0
  #renewedAtMs: number | null = null
  #operations: { close(): Promise<void> } | null = null
  #adopting = new Set<string>()
  #hasFailed = false
  /** Nothing but the worker's end keeps the process: it was told to stop, or cannot go on. */
  #isProcessOver = false
  #onDrained: (report: DrainReport) => void = () => undefined

  constructor(deps: WorkerDeps) {
    const { options } = deps
    this.#deps = deps
    this.#handlers = handlersOf(options.agents)
    this.#concurrency = checkedNumber('concurrency', options.concurrency ?? CONCURRENCY, 1, 100_000)
    this.#heartbeatMs = checkedNumber('heartbeatMs', options.heartbeatMs ?? HEARTBEAT_MS, 20, 60_000)
    this.#leaseMs = checkedNumber('leaseMs', options.leaseMs ?? 4 * this.#heartbeatMs, 2 * this.#heartbeatMs, 600_000)
    if (options.agents.length === 0) {
      throw new FootholdError('INVALID_ARGUMENT', { field: 'agents', problem: 'no agent is given' })
    }
    deps.meter.watch(this, meteredAgentsOf(options.agents))
  }

  get id(): string {
    return this.#id
  }

  get status(): Worker['status'] {
    return this.#status
  }

  get running(): number {
    return this.#executions.size
  }

  get concurrency(): number {
    return this.#concurrency
  }

  get release(): string {
    return this.#deps.options.release ?? 'unlabelled'
  }

  get heartbeatAgeMs(): number | null {
    return this.#renewedAtMs === null ? null : systemClock.monotonicMs() - this.#renewedAtMs
  }

  /** Null: it takes tasks. */
  #notReady(): string | null {
    if (this.#status !== 'active') return `the worker is ${this.#status}`
    if ((this.heartbeatAgeMs ?? Number.POSITIVE_INFINITY) < this.#leaseMs) return null
    return 'the database has not confirmed a heartbeat within the lease'
  }

  // ---- start ------------------------------------------------------------------------------------

  start(): Promise<void> {
    if (this.#draining !== null) {
      throw new FootholdError('WORKER_STATE', { problem: 'This worker was drained. Create a new one.' })
    }
    this.#starting ??= this.#start()
    return this.#starting
  }

  async #start(): Promise<void> {
    const { openDatabase, openSessions, logger, startMaintenance } = this.#deps
    this.#operations = await this.#deps.openOperations(() => this.#notReady())
    const db = openDatabase()
    const sessions = openSessions()
    try {
      await registerHandlers(db, registrationsOf(this.#deps.options.agents), this.#giveUp.signal)
      await this.#register(db)
    } catch (error) {
      await Promise.all([db.close(), sessions.close(), this.#operations?.close()])
      throw error
    }
    const heartbeat = startHeartbeat(
      {
        url: this.#deps.directUrl,
        workerId: this.#id,
        heartbeatMs: this.#heartbeatMs,
        leaseMs: this.#leaseMs,
        lifeline: this.#deps.options.lifeline ?? true,
      },
      (message) => this.#onThread(message),
      (error) => this.#onThreadDeath(error),
    )
    const lease = createLease({
      clock: systemClock,
      leaseMs: this.#leaseMs,
      lifelineMs: LIFELINE_IDLE_MS,
      renew: () => heartbeat.send({ kind: 'beat' }),
    })
    this.#parts = {
      db,
      sessions,
      heartbeat,
      lease,
      journal: createJournal(db),
      notifier: createNotifier(db, logger),
      chunks: createChunkWriter(db, (error) => logger.warn({ worker: this.#id, error }, 'stream chunks were lost')),
      maintenance: startMaintenance({ db, workerId: () => this.#id }),
      claims: startClaimLoop({
        db,
        workerId: () => this.#id,
        handlers: [...this.#handlers.keys()],
        freeSlots: () => this.#concurrency - this.#executions.size,
        isIdle: () => this.#executions.size === 0,
        onClaimed: (ids) => this.#take(ids),
        onError: (error) => this.#onTrouble(error),
      }),
    }
    this.#status = 'active'
    tolerateStrayRejections(isOfAnAttempt)
    logger.info(
      { worker: this.#id, agents: [...this.#handlers.keys()], concurrency: this.#concurrency },
      'worker started',
    )
  }

  #register(db: Database): Promise<void> {
    return registerWorker(
      db,
      {
        id: this.#id,
        release: this.release,
        handlers: [...this.#handlers.keys()],
        concurrency: this.#concurrency,
        heartbeatMs: this.#heartbeatMs,
        leaseMs: this.#leaseMs,
        hasLifeline: this.#deps.options.lifeline ?? true,
      },
      this.#giveUp.signal,
    )
  }

  get #running(): Parts {
    if (this.#parts === null) throw new FootholdError('WORKER_STATE', { problem: 'This worker has not been started.' })
    return this.#parts
  }

  // ---- tasks ------------------------------------------------------------------------------------

  async #take(ids: readonly ClaimedId[]): Promise<void> {
    const attempts = new Map(ids.map(({ id, attempt }) => [id, attempt]))
    const tasks = await loadTasks(this.#running.db, this.#id, [...attempts.keys()], this.#giveUp.signal)
    for (const task of tasks) {
      if (attempts.get(task.id) !== task.attempt || this.#executions.has(nameOf(task))) continue
      this.#stopEarlierAttempts(task)
      // Also a worker that has stopped: the answer to its last claim may come late.
      if (this.#status === 'active') this.#execute(task)
      else await this.#handBack(task)
    }
    this.#tellRunning()
  }

  #stopEarlierAttempts(task: LoadedTask): void {
    for (const { execution } of this.#executions.values()) {
      if (execution.task.id === task.id) execution.stop('lease_lost')
    }
  }

  #execute(task: LoadedTask): void {
    const { db, journal, chunks, lease, maintenance, notifier } = this.#running
    const { logger, meter } = this.#deps
    const handler = this.#handlers.get(task.handler)
    // Claimed by handler: there is none that it does not have.
    if (handler === undefined) return
    const execution = new Execution(task, handler.run, {
      workerId: this.#id,
      db,
      journal,
      chunks,
      lease,
      clock: systemClock,
      logger,
      meter,
      notifier,
      random: Math.random,
      giveUp: this.#giveUp.signal,
      onParked: (wakeInMs) => maintenance.expectWake(wakeInMs),
    })
    const context = createTaskContext(
      execution,
      { agent: handler.agent, version: task.begunVersion ?? handler.version },
      this.#running.sessions,
      () => Date.now() + this.#databaseAheadMs,
    )
    logger.info({ task: task.id, agent: task.agent, attempt: task.attempt, worker: this.#id }, 'task claimed')
    meter.claimed(task.agent, task.recovery)
    const ended = execution.run(context).then((settled) => this.#onSettled(task, execution, settled))
    this.#executions.set(nameOf(task), { execution, ended })
  }

  #onSettled(task: LoadedTask, execution: Execution, settled: Settled): Settled {
    this.#executions.delete(nameOf(task))
    this.#deps.meter.attemptEnded(task.agent, settled)
    // What a pause hands over is no matter of this worker's end.
    if (settled.kind === 'handed_over' && this.#status !== 'active') this.#handedOver.push(task.id as TaskId)
    const fields = { task: task.id, agent: task.agent, attempt: task.attempt, worker: execution.fence.workerId }
    const isRefused = settled.kind === 'waiting' && settled.reason === 'code_changed'
    const reason = settled.kind === 'dead_letter' || isRefused ? { reason: settled.reason } : {}
    const level = settled.kind === 'dead_letter' || settled.kind === 'lost' || isRefused ? 'warn' : 'info'
    this.#deps.logger[level]({ ...fields, ...reason }, ENDINGS[settled.kind])
    this.#parts?.claims.wake()
    this.#tellRunning()
    return settled
  }

  /** Claimed, but not to be run here. */
  async #handBack(task: { readonly id: string; readonly attempt: number }): Promise<void> {
    const fence = { taskId: task.id, attempt: task.attempt, workerId: this.#id }
    const options = { doing: 'handing back a task', patienceMs: Number.POSITIVE_INFINITY, signal: this.#giveUp.signal }
    const why = { reason: 'graceful_shutdown', detail: 'claimed, not started' }
    const given = await handOverTask(this.#running.db, fence, why, options)
    if (given === null) return
    this.#noteHandBack(task.id, given.handler)
    await announcePending(this.#running.db, [given.handler], { doing: 'announcing a task', patienceMs: 0 }).catch(
      () => undefined,
    )
  }

  #noteHandBack(id: string, handler: string): void {
    this.#handedOver.push(id as TaskId)
    this.#deps.meter.attemptEnded(agentOfHandler(handler), { kind: 'handed_over' })
  }

  #tellRunning(): void {
    this.#parts?.heartbeat.send({ kind: 'running', running: this.#executions.size })
  }

  // ---- signs of life ----------------------------------------------------------------------------

  #onThread(message: FromThread): void {
    switch (message.kind) {
      case 'renewed':
        if (message.workerId !== this.#id) return
        this.#databaseAheadMs = message.databaseMs - message.sent.wallMs
        this.#renewedAtMs = message.sent.monotonicMs
        this.#running.lease.renewed(message.sent)
        return
      case 'fenced':
        if (message.workerId === this.#id) void this.#takeNewIdentity()
        return
      case 'ping':
        if (message.workerId !== this.#id) return
        if (message.isLifelineHeld) this.#running.lease.lifelineAnswered(message.sent)
        this.#onPing(message)
        return
      case 'broken':
        this.#running.lease.lifelineBroke()
        return
      case 'pending':
        if (this.#handlers.has(message.handler)) this.#running.claims.wake()
        return
      case 'pauses':
        this.#running.claims.wake()
        this.#running.maintenance.pausesChanged()
        return
      case 'lost':
        for (const lost of message.workerIds) {
          this.#deps.logger.warn({ worker: this.#id, lost, by: 'lifeline' }, 'worker lost')
        }
        this.#deps.meter.workersLost(message.workerIds.length)
        this.#running.maintenance.sweepNow()
        return
      case 'pooled':
        this.#deps.logger.warn({ worker: this.#id }, NO_LIFELINE)
        return
      case 'quiet':
        return
      case 'trouble':
        this.#deps.logger.warn({ worker: this.#id, message: message.message }, 'heartbeat has lost the database')
        return
      case 'recovered':
        this.#deps.logger.info({ worker: this.#id }, 'heartbeat has the database again')
        this.#running.claims.wake()
        return
    }
  }

  #onPing(message: FromThread & { readonly kind: 'ping' }): void {
    const { claims } = this.#running
    const verdict = judgePing({
      sentMs: message.sent.monotonicMs,
      rows: message.rows,
      known: [...this.#executions.values()].map(({ execution }) => ({
        id: execution.task.id,
        attempt: execution.task.attempt,
        sinceMs: execution.sinceMs,
        isSettling: execution.isSettling,
      })),
      claimsUnderWay: claims.claimsUnderWay,
      claimsLost: claims.claimsLost,
      strangersBefore: this.#strangers,
    })
    this.#strangers = verdict.strangers
    const executionOf = (attempt: AttemptId): Execution | undefined => this.#executions.get(nameOf(attempt))?.execution
    for (const attempt of verdict.lost) executionOf(attempt)?.stop('lease_lost')
    for (const attempt of verdict.cancelled) executionOf(attempt)?.stop('cancelled')
    for (const attempt of verdict.paused) executionOf(attempt)?.drain('paused')
    for (const attempt of verdict.woken) {
      executionOf(attempt)
        ?.refresh(attempt.wakeSeq)
        .catch((error: unknown) => this.#onTrouble(error))
    }
    const adopted = verdict.adopt.filter(({ id }) => !this.#adopting.has(id))
    if (adopted.length > 0) void this.#adopt(adopted)
    for (const task of verdict.handBack) this.#handBack(task).catch((error: unknown) => this.#onTrouble(error))
  }

  /** The answer to a claim was lost, but the claim was carried out. */
  async #adopt(ids: readonly ClaimedId[]): Promise<void> {
    for (const { id } of ids) this.#adopting.add(id)
    try {
      await this.#take(ids)
    } catch (error) {
      this.#onTrouble(error)
    } finally {
      for (const { id } of ids) this.#adopting.delete(id)
    }
  }

  /** Declared lost: everything of the old life is over; a new one begins. */
  async #takeNewIdentity(): Promise<void> {
    const { logger } = this.#deps
    const old = this.#id
    for (const { execution } of this.#executions.values()) execution.stop('lease_lost')
    this.#id = newWorkerId()
    logger.error({ worker: old, reason: 'lease_lost', successor: this.#id }, 'worker was declared lost; it begins anew')
    // Without a row of its own it would look alive and claim nothing, for ever.
    while (this.#status === 'active') {
      try {
        await this.#register(this.#running.db)
        this.#running.heartbeat.send({ kind: 'identity', workerId: this.#id })
        return
      } catch (error) {
        this.#onTrouble(error)
        await sleep(REGISTER_AGAIN_MS, this.#giveUp.signal)
      }
    }
  }

  /** Without signs of life the lease runs out and others take the tasks: better to hand them over now. */
  #onThreadDeath(error: Error): void {
    this.#deps.logger.error({ worker: this.#id, error }, 'heartbeat thread died; the worker drains')
    this.#hasFailed = true
    this.#isProcessOver = true
    void this.drain()
  }

  #onTrouble(error: unknown): void {
    if (this.#status === 'stopped' || this.#giveUp.signal.aborted) return
    this.#deps.logger.warn({ worker: this.#id, error }, 'trouble with the database')
  }

  // ---- drain ------------------------------------------------------------------------------------

  drain({
    graceMs = this.#deps.options.graceMs ?? GRACE_MS,
  }: {
    readonly graceMs?: number | undefined
  } = {}): Promise<DrainReport> {
    const endsAtMs = systemClock.monotonicMs() + graceMs
    if (endsAtMs < this.#graceEndsAtMs) {
      this.#graceEndsAtMs = endsAtMs
      this.#graceShortened()
    }
    if (this.#draining === null) {
      this.#draining = this.#drain()
      void this.#draining.then((report) => this.#onDrained(report))
    }
    return this.#draining
  }

  async #drain(): Promise<DrainReport> {
    if (this.#parts === null) {
      // Still on its way up, perhaps without a database: there is nothing to hand over.
      this.#giveUp.abort(
        new FootholdError('WORKER_STATE', { problem: 'The worker was stopped before it had started.' }),
      )
      await this.#starting?.catch(() => undefined)
    }
    if (this.#parts === null) {
      this.#status = 'stopped'
      return { handedOver: [], leftBehind: [] }
    }
    const { db, sessions, heartbeat, journal, notifier, chunks, maintenance, claims } = this.#parts
    const { logger } = this.#deps
    this.#status = 'draining'
    logger.info({ worker: this.#id, running: this.#executions.size }, 'drain started')
    const told = markDraining(db, this.#id, this.#graceLeftMs()).catch((error: unknown) => this.#onTrouble(error))
    for (const { execution } of this.#executions.values()) execution.drain('graceful_shutdown')

    await this.#withinGrace(Promise.all([claims.stop(), told, maintenance.stop()]))
    await this.#withinGrace(this.#allEnded())
    for (const { execution } of this.#executions.values()) execution.stop('graceful_shutdown')
    await within(this.#allEnded(), LAST_WRITES_MS + GIVE_UP_MS)
    this.#leftBehind = [...this.#executions.values()].map(({ execution }) => execution.task.id as TaskId)
    this.#giveUp.abort(new FootholdError('ATTEMPT_ENDED', { reason: 'graceful_shutdown' }))
    journal.close(new FootholdError('ATTEMPT_ENDED', { reason: 'graceful_shutdown' }))
    notifier.close()

    // A database that swallows packets must not hold up the exit: each wait has a bound, and together they fit the stop.
    await Promise.all([
      within(chunks.close(), FAREWELL_MS),
      within(this.#handBackAll(db), FAREWELL_MS),
      heartbeat.quiet(FAREWELL_MS),
    ])
    await within(markStopped(db, this.#id, FAREWELL_MS), FAREWELL_MS)
    // The lifeline last: freed before the row says `stopped`, it would look like a death.
    await Promise.all([heartbeat.stop(GIVE_UP_MS), within(Promise.all([db.close(), sessions.close()]), GIVE_UP_MS)])
    this.#status = 'stopped'
    await this.#operations?.close()
    const report = { handedOver: this.#handedOver, leftBehind: this.#leftBehind }
    if (report.leftBehind.length > 0) {
      logger.error({ worker: this.#id, tasks: report.leftBehind }, 'worker stopped; these tasks are left to the sweep')
    } else {
      logger.info({ worker: this.#id, handedOver: report.handedOver.length }, 'worker stopped')
    }
    return report
  }

  /** What the database still counts as ours: claims whose answers were lost, handovers that were not carried out. */
  async #handBackAll(db: Database): Promise<void> {
    const options = { doing: 'handing back what is left', patienceMs: FAREWELL_MS }
    const why = { reason: 'graceful_shutdown', detail: 'left when its worker stopped' }
    for (const { id, attempt } of await readHeld(db, this.#id, options)) {
      const given = await handOverTask(db, { taskId: id, attempt, workerId: this.#id }, why, options)
      if (given === null) continue
      this.#noteHandBack(id, given.handler)
      this.#leftBehind = this.#leftBehind.filter((left) => left !== id)
    }
  }

  async #allEnded(): Promise<void> {
    while (this.#executions.size > 0) await Promise.all([...this.#executions.values()].map(({ ended }) => ended))
  }

  #graceLeftMs(): number {
    return Math.max(0, this.#graceEndsAtMs - LAST_WRITES_MS - systemClock.monotonicMs())
  }

  /** Until the work is done or the grace is over, which may be shortened meanwhile. */
  async #withinGrace(work: Promise<unknown>): Promise<void> {
    const done = new AbortController()
    const working = work.catch((error: unknown) => this.#onTrouble(error)).finally(() => done.abort())
    while (!done.signal.aborted && this.#graceLeftMs() > 0) {
      const shortened = new AbortController()
      this.#graceShortened = () => shortened.abort()
      const waking = AbortSignal.any([done.signal, shortened.signal])
      await Promise.race([working, sleep(this.#graceLeftMs(), waking)])
    }
    // The timer must not outlive the wait: it would keep a drained process alive to the end of its grace.
    done.abort()
  }

  // ---- alone in a process -----------------------------------------------------------------------

  async run(): Promise<DrainReport> {
    // However it comes about: a process whose worker has stopped must not stay and do nothing.
    const report = new Promise<DrainReport>((resolve) => {
      this.#onDrained = resolve
    })
    const uninstall = onStopSignal((signal, count) => {
      // A platform may send SIGTERM twice; a person who presses Ctrl-C again means now.
      const isImpatient = signal === 'SIGINT' && count > 1 && process.stdin.isTTY === true
      this.#isProcessOver = true
      void this.drain(isImpatient ? { graceMs: 0 } : {})
    })
    try {
      await this.start().catch((error: unknown) => {
        if (this.#draining === null) throw error
      })
      const result = await report
      if (result.leftBehind.length > 0 || this.#hasFailed) process.exitCode = 1
      if (!this.#isProcessOver) return result
      // What the application left open must not keep a drained process alive until it is killed.
      const leftMs = this.#graceEndsAtMs + LINGER_MS - systemClock.monotonicMs()
      setTimeout(() => process.exit(), Math.min(LINGER_MS, Math.max(100, leftMs))).unref()
      return result
    } finally {
      uninstall()
    }
  }
}

interface Parts {
  readonly db: Database
  readonly sessions: Database
  readonly heartbeat: Heartbeat
  readonly lease: Lease
  readonly journal: Journal
  readonly notifier: Notifier
  readonly chunks: ChunkWriter
  readonly maintenance: Maintenance
  readonly claims: ClaimLoop
}

const ENDINGS: { readonly [Kind in Settled['kind']]: string } = {
  completed: 'task completed',
  cancelled: 'task cancelled',
  waiting: 'task waits',
  handed_over: 'task handed over',
  lost: 'attempt is no longer ours',
  dead_letter: 'task is a dead letter',
}

const NO_LIFELINE =
  'no lifeline: this address goes through a pooler that keeps no session, so a killed worker is noticed after its lease only. ' +
  'Give connect() a directUrl that reaches PostgreSQL itself.'

/** A branch that nobody awaits (any more): why it ended is stored with its task. */
function isOfAnAttempt(reason: unknown): boolean {
  return isFootholdError(reason, 'ATTEMPT_ENDED') || isFootholdError(reason, 'STEP_FAILED')
}

/** hostname:pid:startMs:random, never used again. */
function newWorkerId(): string {
  const startMs = Math.round(performance.timeOrigin)
  return `${hostname().slice(0, 200)}:${process.pid}:${startMs}:${randomBytes(4).toString('hex')}`
}

async function within(work: Promise<unknown>, ms: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const over = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms)
  })
  await Promise.race([
    work.then(
      () => undefined,
      () => undefined,
    ),
    over,
  ])
  clearTimeout(timer)
}

function checkedNumber(field: string, value: number, min: number, max: number): number {
  if (Number.isFinite(value) && value >= min && value <= max) return value
  throw new FootholdError('INVALID_ARGUMENT', {
    field,
    problem: `${String(value)} is not a number from ${min} to ${max}`,
  })
}
