import type { Clock } from '../lifecycle/clock.ts'
import { reach } from '../lifecycle/probe.ts'
import { sleep } from '../lifecycle/sleep.ts'
import type { Meter } from '../metrics/meter.ts'
import { decode } from '../protocol/codec.ts'
import { FootholdError, isFootholdError } from '../protocol/errors.ts'
import type { Failure } from '../protocol/failure.ts'
import type { Logger } from '../protocol/foothold.ts'
import type { Reason } from '../protocol/reasons.ts'
import type { RetryPolicy, TaskContext } from '../protocol/task-context.ts'
import type { LoadedSignal, LoadedStep, LoadedTask } from '../store/claim.ts'
import type { Database, RunOptions } from '../store/database.ts'
import type { Notifier } from '../store/notify.ts'
import { parkTask, pinTask } from '../store/settle.ts'
import { isDataFailure, sqlState } from '../store/sqlstate.ts'
import { type Fence, readStep, readWakes, type StepWrite } from '../store/steps.ts'
import { type Branch, waitOf } from './branches.ts'
import { callPlace, placeOf } from './call-place.ts'
import type { ChunkWriter } from './chunk-writer.ts'
import type { Journal, StoreAnswer } from './journal.ts'
import { tellKin } from './kin.ts'
import type { Lease } from './lease.ts'
import { RUN_KEY, type Settled, Settlement, type Standing } from './settlement.ts'

/**
 * One attempt: the agent's function runs from the top, stored steps answer at once, and it ends in exactly one way:
 * the function returned or threw, the attempt was stopped from outside, or nothing of it can go on and it parks.
 *
 * - Nothing starts after the end: every later call of the old run rejects with ATTEMPT_ENDED, and one that goes on
 *   calling is left without an answer.
 * - A task leaves (handover, wait) only when none of its steps is in flight; the grace's end and a lost lease excepted.
 * - A run that ends while effects are on their way waits for their answers; its other steps are aborted.
 * - Every write carries the fence; an answer of "not held" ends the attempt as `lease_lost` and writes nothing more.
 */

/** Long enough for code between two steps that awaits nothing outside; nobody notices it in a wait. */
const QUIET_MS = 10
/** How long effects on their way may still answer when their task is cancelled. */
const ANSWER_MS = 1_500
/** The same when its run has ended by itself; each of them has a time limit of its own. */
const LAST_ANSWERS_MS = 30_000
/** A fault of the database needs time: not one try after the other. */
const FAULT_PAUSE_MS = 1_000
/** Code that goes on after the end is told so this often. */
const REFUSALS_MAX = 10
/** How long results that are being stored may hold up a handover at the grace's end. */
const LAST_WRITES_MS = 300

export type StopReason = 'lease_lost' | 'cancelled' | 'graceful_shutdown' | 'paused' | 'deadline' | 'database_error'

type Ending =
  | { readonly kind: 'returned'; readonly output: unknown }
  | { readonly kind: 'threw'; readonly error: unknown }
  | { readonly kind: 'stopped'; readonly reason: StopReason }
  | { readonly kind: 'parked'; readonly reason: Reason | null }

const DEADLINE: Failure = {
  reason: 'deadline',
  code: 'DEADLINE',
  message: 'The task did not end before its deadline.',
  retryable: false,
  afterMs: 0,
  isDefinite: false,
}

export interface ExecutionServices {
  readonly workerId: string
  readonly db: Database
  readonly journal: Journal
  readonly chunks: ChunkWriter
  readonly lease: Lease
  readonly clock: Clock
  readonly logger: Logger
  readonly meter: Meter
  readonly notifier: Notifier
  readonly random: () => number
  /** A wait of this length was written: whoever promotes should look by then. */
  readonly onParked: (wakeInMs: number | null) => void
  /** For work of this task on the database that is not a step: until the worker gives up. */
  readonly giveUp: AbortSignal
}

export interface AgentRun {
  /** Of this code; a task's own may be an older one that it continues. */
  readonly handler: string
  readonly retry: RetryPolicy
  readonly start: (task: TaskContext, input: unknown) => Promise<unknown>
  /** Gives what the schema makes of a stored input; throws INPUT_INVALID, or CODE_CHANGED where it was accepted before. */
  readonly checkInput: (input: unknown, wasAccepted: boolean) => Promise<unknown>
}

interface ActiveTry {
  readonly controller: AbortController
  readonly isEffect: boolean
}

export class Execution {
  readonly task: LoadedTask
  readonly fence: Fence
  readonly services: ExecutionServices
  readonly retry: RetryPolicy
  /** When it became ours: pings sent earlier do not know it. */
  readonly sinceMs: number
  readonly controller: AbortController = new AbortController()
  /** The function of the context that the agent's code is calling now. */
  entrance: (...args: never[]) => unknown = callPlace
  readonly #run: AgentRun
  readonly #settlement: Settlement
  readonly #steps: Map<string, LoadedStep>
  readonly #usedKeys = new Map<string, Error>()
  readonly #branches = new Map<
    string,
    { readonly branch: Branch; readonly wake: () => void; timer: NodeJS.Timeout | null }
  >()
  readonly #tries = new Set<ActiveTry>()
  readonly #ended: Promise<Ending>
  #resolveEnded: (ending: Ending) => void = () => undefined
  #ending: Ending | null = null
  #inFlight = 0
  #failures = 0
  /** Results on their way into the journal. */
  #writes = 0
  #wakeSeq: number
  #signals: LoadedSignal[]
  #parking: Promise<void> | null = null
  /** Why no new step starts. */
  #draining: 'graceful_shutdown' | 'paused' | null = null
  #quiet: NodeJS.Timeout | null = null
  #deadline: NodeJS.Timeout | null = null
  #isSettling = false
  /** Stopped from outside after its end: what it waits for before it settles is given up. */
  #isCutShort = false
  #hasProgress = false
  #pinning: Promise<boolean> | null = null
  #refusals = 0

  constructor(task: LoadedTask, run: AgentRun, services: ExecutionServices) {
    this.task = task
    this.services = { ...services, db: this.#watched(services.db) }
    this.retry = run.retry
    this.fence = { taskId: task.id, attempt: task.attempt, workerId: services.workerId }
    this.sinceMs = services.clock.monotonicMs()
    this.#run = run
    this.#settlement = new Settlement(this.fence, { ...services, statement: (doing) => this.statement(doing) })
    this.#steps = new Map(task.steps.map((step) => [step.key, step]))
    this.#signals = [...task.signals]
    this.#wakeSeq = task.wakeSeq
    this.#ended = new Promise((resolve) => {
      this.#resolveEnded = resolve
    })
  }

  /** True from the first statement that ends the attempt in the database on: the row may be anybody's. */
  get isSettling(): boolean {
    return this.#isSettling
  }

  get isEnded(): boolean {
    return this.#ending !== null
  }

  get signals(): readonly LoadedSignal[] {
    return this.#signals
  }

  /** Runs the attempt to its end and settles it in the database. Never throws. */
  async run(context: TaskContext): Promise<Settled> {
    try {
      if (this.task.isCancelRequested) this.stop('cancelled')
      else if (this.task.deadlineInMs !== null && this.task.deadlineInMs <= 0) this.stop('deadline')
      else this.#start(context)
      const settled = await this.#settle(await this.#ended)
      await tellKin(this.services, this.task, settled)
      return settled
    } catch (error) {
      // The statement that ends the attempt failed for good: it stays ours until the sweep finds it.
      this.services.logger.error({ ...this.#names(), error }, 'attempt could not be settled')
      return { kind: 'lost' }
    } finally {
      this.#clearTimers()
    }
  }

  #start(context: TaskContext): void {
    const { deadlineInMs } = this.task
    if (deadlineInMs !== null && deadlineInMs < 2 ** 31) {
      this.#deadline = setTimeout(() => this.stop('deadline'), deadlineInMs)
    }
    void this.#callAgent(context).then(
      (output) => this.#end({ kind: 'returned', output }),
      (error: unknown) => this.#end({ kind: 'threw', error }),
    )
  }

  async #callAgent(context: TaskContext): Promise<unknown> {
    const input = decode(this.task.input)
    const { isInputChecked, isInputStable, steps } = this.task
    // What a transforming schema makes of its own results, nobody knows: such an input is taken as it was checked.
    if (isInputChecked && !isInputStable) return this.#run.start(context, input)
    return this.#run.start(context, await this.#run.checkInput(input, isInputChecked || steps.length > 0))
  }

  #end(ending: Ending): void {
    if (this.#ending !== null) return
    this.#ending = ending
    this.#clearTimers()
    this.#resolveEnded(ending)
  }

  // ---- from outside -----------------------------------------------------------------------------

  /** Ends the attempt. Plain steps are aborted at once; effects whose request has left may still answer, within bounds. */
  stop(reason: StopReason): void {
    const error = new FootholdError('ATTEMPT_ENDED', { reason })
    if (this.#ending !== null) {
      // Too late for a cancel: how the run ended counts.
      if (reason === 'cancelled') return
      this.#isCutShort = true
      this.#abortTries(error, { effectsToo: true })
      return
    }
    this.#end({ kind: 'stopped', reason })
    this.controller.abort(error)
    this.#abortTries(error, { effectsToo: reason !== 'cancelled' })
  }

  #abortTries(error: Error, { effectsToo }: { readonly effectsToo: boolean }): void {
    for (const active of this.#tries) if (effectsToo || !active.isEffect) active.controller.abort(error)
  }

  /** No new step starts; when none runs any more, the task is handed over. */
  drain(reason: 'graceful_shutdown' | 'paused'): void {
    this.#draining ??= reason
    this.#checkSoon()
  }

  /** The ping saw something new: signals, or a cancel that a wait must not miss. */
  async refresh(wakeSeq: number): Promise<void> {
    if (wakeSeq <= this.#wakeSeq || this.#ending !== null) return
    await this.#readWakes()
  }

  // ---- for the context --------------------------------------------------------------------------

  /**
   * For calls after the end. Code that catches the refusal and calls again must not keep the event loop for itself, nor
   * go on for ever: after a few refusals it gets no answer, and is forgotten.
   */
  async refuse(): Promise<void> {
    this.#refusals += 1
    if (this.#refusals > REFUSALS_MAX) await new Promise<never>(() => undefined)
    await new Promise((resolve) => setImmediate(resolve))
  }

  /** Every keyed call comes through here first. Gives what is stored under the key. */
  open(key: string, kind: string, version: number): LoadedStep | null {
    this.#throwIfEnded()
    const here = callPlace(this.entrance)
    const first = this.#usedKeys.get(key)
    if (first !== undefined) {
      throw new FootholdError('STEP_KEY_REUSED', { key, first: placeOf(first), second: placeOf(here) })
    }
    this.#usedKeys.set(key, here)
    const step = this.#steps.get(key) ?? null
    if (step !== null && (step.kind !== kind || step.version !== version)) {
      // The end, whatever the code makes of the error: nothing of this attempt may go on beside a result it cannot use.
      return this.#endWith(
        new FootholdError('CODE_CHANGED', {
          key,
          expected: `a ${kind}, version ${version}`,
          stored: `a ${step.kind}, version ${step.version}`,
        }),
      )
    }
    return step
  }

  /** What a stored step gave. */
  async valueOf(step: LoadedStep): Promise<unknown> {
    if (step.output !== null) return decode(step.output)
    this.#inFlight += 1
    try {
      return decode((await this.stored(step.key))?.output ?? 'null')
    } finally {
      this.leave()
    }
  }

  #endWith(error: FootholdError): never {
    this.#end({ kind: 'threw', error })
    throw error
  }

  /** Before the first thing that this code leaves under the task: from then on no older version may go on with it. */
  async #pin(): Promise<void> {
    const { handler } = this.#run
    if (this.task.handler === handler) return
    const { db } = this.services
    this.#pinning ??= pinTask(db, this.fence, handler, this.statement('pinning a task to the version that goes on'))
    if (!(await this.#pinning)) this.loseLease()
  }

  /** Before a try: waits while the attempt is about to park; a draining attempt starts nothing more. */
  async enter(key: string): Promise<void> {
    if (this.task.handler !== this.#run.handler) {
      this.#inFlight += 1
      await this.#pin().finally(() => this.leave())
    }
    while (this.#parking !== null) await this.#parking
    this.#throwIfEnded()
    if (this.#draining !== null) await this.park({ key, kind: 'drain', dueAtMs: null, reason: null, detail: null })
    this.#inFlight += 1
  }

  leave(): void {
    this.#inFlight -= 1
    this.#checkSoon()
  }

  /** One try's own abort: its time limit, or the end of the attempt. */
  openTry(isEffect: boolean): { readonly signal: AbortSignal; abort(error: Error): void; close(): void } {
    const active: ActiveTry = { controller: new AbortController(), isEffect }
    if (this.#ending !== null) active.controller.abort(this.#endedError(this.#ending))
    this.#tries.add(active)
    return {
      signal: active.controller.signal,
      abort: (error) => active.controller.abort(error),
      close: () => this.#tries.delete(active),
    }
  }

  /**
   * Lets a branch wait. Resolves when it may go on in this attempt; when the whole task parks, it never does: the run
   * is forgotten and the next attempt begins from the top.
   */
  async park(branch: Branch): Promise<void> {
    this.#throwIfEnded()
    await new Promise<void>((resolve) => {
      const wake = (): void => {
        const parked = this.#branches.get(branch.key)
        if (parked?.timer !== null && parked !== undefined) clearTimeout(parked.timer)
        this.#branches.delete(branch.key)
        resolve()
      }
      this.#branches.set(branch.key, { branch, wake, timer: this.#timerFor(branch, wake) })
      this.#checkSoon()
    })
  }

  #timerFor(branch: Branch, wake: () => void): NodeJS.Timeout | null {
    if (branch.dueAtMs === null || branch.kind === 'drain') return null
    // Not before the task had its chance to park: a failed try ends the attempt, with its reason in the history, unless
    // other steps of the task are running.
    const inMs = Math.max(branch.dueAtMs - this.services.clock.monotonicMs(), 2 * QUIET_MS)
    return inMs < 2 ** 31 ? setTimeout(wake, inMs) : null
  }

  takeSignal(name: string): LoadedSignal | null {
    const index = this.#signals.findIndex((signal) => signal.name === name)
    return index < 0 ? null : (this.#signals.splice(index, 1)[0] ?? null)
  }

  /** Stores under the fence. An attempt that is no longer ours ends here, and the call never returns. */
  async store(write: Omit<StepWrite, 'taskId' | 'attempt'>): Promise<Exclude<StoreAnswer, { kind: 'not_held' }>> {
    this.#writes += 1
    let answer: StoreAnswer
    try {
      answer = await this.services.journal.store(this.fence.workerId, {
        ...write,
        taskId: this.fence.taskId,
        attempt: this.fence.attempt,
      })
    } catch (error) {
      return this.#failedFor(error, `what step ${JSON.stringify(write.key)} gave`)
    } finally {
      this.#writes -= 1
    }
    if (answer.kind === 'not_held') this.loseLease()
    if (write.status === 'completed') this.#hasProgress = true
    return answer
  }

  /**
   * A statement failed for good. For what this task gave it: no further try will help, the same code gives the same
   * value. For anything else the attempt ends, and no step is blamed.
   */
  #failedFor(error: unknown, field: string): never {
    if (isFootholdError(error, 'ATTEMPT_ENDED') || isFootholdError(error, 'CLOSED')) throw error
    if (isDataFailure(error)) {
      const what = `PostgreSQL refuses it (${sqlState(error)}: ${(error as Error).message})`
      throw new FootholdError('VALUE_NOT_STORABLE', { field, path: '$', what }, { cause: error })
    }
    if (this.#ending === null) {
      this.services.logger.error(
        { ...this.#names(), reason: 'database_error', error },
        'a statement failed for good; the task is handed over',
      )
    }
    this.stop('database_error')
    throw new FootholdError('ATTEMPT_ENDED', { reason: 'database_error' }, { cause: error })
  }

  #watched(db: Database): Database {
    return {
      ...db,
      run: async (text, values, options) => {
        try {
          return await db.run(text, values, options)
        } catch (error) {
          return this.#failedFor(error, options.doing)
        }
      },
    }
  }

  /** A fenced statement found that the attempt is not ours. */
  loseLease(): never {
    this.stop('lease_lost')
    throw new FootholdError('ATTEMPT_ENDED', { reason: 'lease_lost' })
  }

  /** What stands under a key now; the attempt ends when it is no longer ours and nothing stands. */
  async stored(key: string): Promise<LoadedStep | null> {
    const step = await readStep(this.services.db, this.fence.taskId, key, this.statement('reading a step'))
    if (step !== null) return step
    const wakes = await readWakes(this.services.db, this.fence, this.statement('looking whether a task is still held'))
    return wakes === null ? this.loseLease() : null
  }

  countFailure(): void {
    this.#failures += 1
  }

  /** Options of this task's own statements: as long as the worker has not given up. */
  statement(doing: string): RunOptions {
    return { doing, patienceMs: Number.POSITIVE_INFINITY, signal: this.services.giveUp }
  }

  #throwIfEnded(): void {
    if (this.#ending !== null) throw this.#endedError(this.#ending)
  }

  #endedError(ending: Ending): FootholdError {
    const { kind } = ending
    const reason =
      kind === 'stopped'
        ? ending.reason
        : kind === 'parked'
          ? 'waiting'
          : kind === 'threw'
            ? isFootholdError(ending.error, 'CODE_CHANGED')
              ? 'code_changed'
              : 'step_failed'
            : 'completed'
    return new FootholdError('ATTEMPT_ENDED', { reason })
  }

  // ---- parking ----------------------------------------------------------------------------------

  #checkSoon(): void {
    if (this.#ending !== null || this.#quiet !== null) return
    this.#quiet = setTimeout(() => {
      this.#quiet = null
      this.#check()
    }, QUIET_MS)
  }

  #check(): void {
    if (this.#ending !== null || this.#inFlight > 0 || this.#parking !== null) return
    if (this.#draining !== null) return this.stop(this.#draining)
    if (this.#branches.size === 0) return
    this.#parking = this.#tryPark()
      // Unless the failed statement has ended the attempt itself.
      .catch((error: unknown) => this.#end({ kind: 'threw', error }))
      .finally(() => {
        this.#parking = null
        // What came in may be for none of the branches: then they want to wait as before.
        this.#checkSoon()
      })
  }

  /** WAIT. What came in meanwhile forbids it: then it is read, given to the branches, and the attempt goes on. */
  async #tryPark(): Promise<void> {
    await reach('park.before', this.fence.taskId, null)
    const wait = waitOf(
      [...this.#branches.values()].map((parked) => parked.branch),
      { nowMs: this.services.clock.monotonicMs(), wakeSeq: this.#wakeSeq, failures: this.#failures },
    )
    if (wait.branches.length > 0) await this.#pin()
    const isSettled = await parkTask(this.services.db, this.fence, wait, this.statement('storing a wait'))
    if (!isSettled) return this.#readWakes(wait.reason)
    this.#end({ kind: 'parked', reason: wait.reason })
    // The run is forgotten, but code between its steps may still be about: it is told.
    this.controller.abort(new FootholdError('ATTEMPT_ENDED', { reason: 'waiting' }))
    this.services.onParked(wait.wakeInMs)
  }

  async #readWakes(parkedFor: Reason | null = null): Promise<void> {
    const wakes = await readWakes(this.services.db, this.fence, this.statement('reading what came in for a task'))
    if (wakes === null) {
      // Gone: an earlier try of the same WAIT landed, or another worker has it. Either way it is not ours to write.
      const isParked = await this.#settlement.isGivenUp()
      this.#end(isParked ? { kind: 'parked', reason: parkedFor } : { kind: 'stopped', reason: 'lease_lost' })
      this.controller.abort(new FootholdError('ATTEMPT_ENDED', { reason: 'lease_lost' }))
      return
    }
    this.#wakeSeq = wakes.wakeSeq
    this.#signals = [...wakes.signals]
    if (wakes.isCancelRequested) return this.stop('cancelled')
    for (const { branch, wake } of this.#branches.values()) {
      if (branch.kind === 'signal' && wakes.signals.some((signal) => signal.name === branch.signalName)) wake()
      if (branch.kind === 'person' || wakes.settled.includes(branch.key)) wake()
    }
  }

  #clearTimers(): void {
    for (const timer of [this.#quiet, this.#deadline]) if (timer !== null) clearTimeout(timer)
    this.#quiet = null
    this.#deadline = null
    for (const { timer } of this.#branches.values()) if (timer !== null) clearTimeout(timer)
  }

  // ---- the end ----------------------------------------------------------------------------------

  async #settle(ending: Ending): Promise<Settled> {
    if (ending.kind === 'returned' || ending.kind === 'threw') await this.#lastAnswers(ending)
    this.#isSettling = true
    switch (ending.kind) {
      case 'parked':
        return { kind: 'waiting', reason: ending.reason }
      case 'returned':
        return this.#settlement.complete(ending.output, this.#standing())
      case 'threw':
        return this.#settlement.thrown(ending.error, this.retry, this.#standing())
      case 'stopped':
        return this.#settleStopped(ending.reason)
    }
  }

  /** Steps of other branches may be in flight: what has changed something outside must not be left in doubt. */
  async #lastAnswers(ending: Ending): Promise<void> {
    if (this.#inFlight === 0) return
    this.#abortTries(this.#endedError(ending), { effectsToo: false })
    await this.#until(() => this.#inFlight === 0 || this.#isCutShort, LAST_ANSWERS_MS)
  }

  async #settleStopped(reason: StopReason): Promise<Settled> {
    switch (reason) {
      case 'lease_lost':
        return { kind: 'lost' }
      case 'cancelled':
        await this.#until(() => this.#inFlight === 0 || this.#isCutShort, ANSWER_MS)
        this.#abortTries(this.controller.signal.reason as Error, { effectsToo: true })
        return this.#settlement.cancel()
      case 'deadline':
        return this.#settlement.deadLetter(DEADLINE, this.#standing())
      case 'graceful_shutdown':
      case 'paused':
        // What has been answered must not be handed over as a doubt.
        await this.#until(() => this.#writes === 0, LAST_WRITES_MS)
        return this.#settlement.handOver(reason)
      case 'database_error':
        await this.#until(() => this.#isCutShort, FAULT_PAUSE_MS)
        return this.#settlement.handOver(reason)
    }
  }

  #standing(): Standing {
    // Failures of the code between the steps count anew when it has come further.
    const runTries = this.#hasProgress ? 0 : (this.#steps.get(RUN_KEY)?.tries ?? 0)
    return { wakeSeq: this.#wakeSeq, failures: this.#failures, runTries }
  }

  async #until(isSo: () => boolean, patienceMs: number): Promise<void> {
    const untilMs = this.services.clock.monotonicMs() + patienceMs
    while (!isSo() && this.services.clock.monotonicMs() < untilMs) await sleep(QUIET_MS)
  }

  #names(): { readonly task: string; readonly attempt: number; readonly worker: string } {
    return { task: this.fence.taskId, attempt: this.fence.attempt, worker: this.fence.workerId }
  }
}
