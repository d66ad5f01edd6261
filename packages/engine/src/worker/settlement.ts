import { reach } from '../lifecycle/probe.ts'
import { cleanMessage, encode } from '../protocol/codec.ts'
import { type FootholdError, isFootholdError } from '../protocol/errors.ts'
import { decideRetry, type Failure, failureOf } from '../protocol/failure.ts'
import type { Reason } from '../protocol/reasons.ts'
import type { RetryPolicy } from '../protocol/task-context.ts'
import type { Database, RunOptions } from '../store/database.ts'
import {
  announcePending,
  cancelTask,
  completeTask,
  deadLetterTask,
  endedBy,
  handOverTask,
  parkTask,
  refuseTask,
} from '../store/settle.ts'
import { isDataFailure } from '../store/sqlstate.ts'
import { type Fence, readWakes } from '../store/steps.ts'
import type { Journal } from './journal.ts'
import { BLANK_WRITE, errorText } from './step-write.ts'

/**
 * How an attempt ends in the database: one fenced statement each. Where it changed nothing, the row is read: the same
 * attempt, ended, means that an earlier try of the statement landed; anything else means that it is not ours any more.
 */

export type Settled =
  | { readonly kind: 'completed' | 'cancelled' | 'lost' }
  /** Null: a plain wait. */
  | { readonly kind: 'waiting'; readonly reason: Reason | null }
  | { readonly kind: 'handed_over'; readonly reason: Reason }
  | { readonly kind: 'dead_letter'; readonly reason: string }

export interface SettlementServices {
  readonly db: Database
  readonly journal: Journal
  readonly random: () => number
  readonly onParked: (wakeInMs: number | null) => void
  /** Options of a statement that goes on until the worker gives up. */
  readonly statement: (doing: string) => RunOptions
}

/** What the attempt knows when it ends. */
export interface Standing {
  readonly wakeSeq: number
  /** Failed tries in this attempt. */
  readonly failures: number
  /** Failed tries of the code between the steps, in earlier attempts. */
  readonly runTries: number
}

/** Where the tries of the code between the steps are counted. Not a key that a step can have: keys are never empty. */
export const RUN_KEY = ''

export class Settlement {
  readonly #fence: Fence
  readonly #services: SettlementServices

  constructor(fence: Fence, services: SettlementServices) {
    this.#fence = fence
    this.#services = services
  }

  /** The agent's function returned. */
  async complete(output: unknown, standing: Standing): Promise<Settled> {
    const { db, statement } = this.#services
    let text: string
    try {
      text = encode(output, 'the output')
    } catch (error) {
      return this.deadLetter(failureOf(error), standing)
    }
    await reach('complete.before', this.#fence.taskId, null)
    try {
      if (await completeTask(db, this.#fence, text, statement('completing a task'))) {
        await reach('complete.after', this.#fence.taskId, null)
        return { kind: 'completed' }
      }
    } catch (error) {
      if (!isDataFailure(error)) throw error
      return this.deadLetter({ ...failureOf(error), retryable: false }, standing)
    }
    return (await this.#hasEndedAs('completed')) ? { kind: 'completed' } : { kind: 'lost' }
  }

  /** The agent's function threw: what a step or a changed code decided stands, all else is tried again by policy. */
  async thrown(error: unknown, policy: RetryPolicy, standing: Standing): Promise<Settled> {
    if (isFootholdError(error, 'ATTEMPT_ENDED')) return { kind: 'lost' }
    const failure = failureThrown(error)
    if (isFootholdError(error, 'CODE_CHANGED')) return this.refuse(failure, standing)
    const tries = standing.runTries + 1
    const decision = failure.retryable
      ? decideRetry(failure, tries, policy, this.#services.random)
      : ({ kind: 'final' } as const)
    if (decision.kind === 'final') return this.deadLetter(failure, standing)
    const { kind } = await this.#services.journal.store(this.#fence.workerId, {
      ...BLANK_WRITE,
      taskId: this.#fence.taskId,
      attempt: this.#fence.attempt,
      key: RUN_KEY,
      kind: 'run',
      status: 'failed',
      tries,
      error: errorText(failure),
    })
    if (kind === 'not_held') return { kind: 'lost' }
    return this.#backOff(failure, decision.delayMs, { ...standing, failures: standing.failures + 1 })
  }

  /** The code between the steps failed: the whole attempt backs off. */
  async #backOff(failure: Failure, delayMs: number, standing: Standing): Promise<Settled> {
    const { db, statement, onParked } = this.#services
    for (let { wakeSeq } = standing; ; ) {
      const wait = {
        wakeSeqSeen: wakeSeq,
        waitingFor: 'retry',
        wakeInMs: delayMs,
        reason: failure.reason,
        detail: cleanMessage(failure.message),
        failures: standing.failures,
        branches: [],
      } as const
      if (await parkTask(db, this.#fence, wait, statement('storing a back-off'))) {
        onParked(delayMs)
        return { kind: 'waiting', reason: failure.reason }
      }
      const wakes = await readWakes(db, this.#fence, statement('reading what came in for a task'))
      if (wakes === null)
        return (await this.isGivenUp()) ? { kind: 'waiting', reason: failure.reason } : { kind: 'lost' }
      if (wakes.isCancelRequested) return this.cancel()
      wakeSeq = wakes.wakeSeq
    }
  }

  async cancel(): Promise<Settled> {
    const { db, statement } = this.#services
    if (await cancelTask(db, this.#fence, statement('cancelling a task'))) return { kind: 'cancelled' }
    return (await this.#hasEndedAs('cancelled')) ? { kind: 'cancelled' } : { kind: 'lost' }
  }

  async handOver(reason: Reason): Promise<Settled> {
    const { db, statement } = this.#services
    const given = await handOverTask(db, this.#fence, { reason, detail: null }, statement('handing over a task'))
    if (given === null) return (await this.isGivenUp()) ? { kind: 'handed_over', reason } : { kind: 'lost' }
    await this.#announce([given.handler])
    return { kind: 'handed_over', reason }
  }

  /** This code is not the one to go on with it: another release's may be. */
  async refuse(failure: Failure, { failures }: Standing): Promise<Settled> {
    const { db, statement } = this.#services
    const why = { error: errorText(failure), detail: cleanMessage(failure.message), failures }
    const isRefused = await refuseTask(db, this.#fence, why, statement('storing that the code has changed'))
    if (!isRefused && !(await this.isGivenUp())) return this.cancel()
    return { kind: 'waiting', reason: failure.reason }
  }

  async deadLetter(failure: Failure, { failures }: Standing): Promise<Settled> {
    const { db, statement } = this.#services
    const { reason } = failure
    const why = { reason, error: errorText(failure), detail: cleanMessage(failure.message), failures }
    const followUps = await deadLetterTask(db, this.#fence, why, statement('storing a dead letter'))
    if (followUps === null && !(await this.#hasEndedAs('dead_letter'))) return this.cancel()
    await this.#announce(followUps ?? [])
    return { kind: 'dead_letter', reason }
  }

  /** This attempt holds the task no more, and no later one has taken it yet. */
  async isGivenUp(): Promise<boolean> {
    const now = await this.#read()
    return now?.attempt === this.#fence.attempt && now.workerId === null
  }

  async #hasEndedAs(status: string): Promise<boolean> {
    const now = await this.#read()
    return now?.status === status && now.attempt === this.#fence.attempt
  }

  #read(): ReturnType<typeof endedBy> {
    return endedBy(this.#services.db, this.#fence, this.#services.statement('looking how an attempt ended'))
  }

  async #announce(handlers: readonly string[]): Promise<void> {
    try {
      await announcePending(this.#services.db, handlers, { doing: 'announcing pending tasks', patienceMs: 0 })
    } catch {
      // An accelerator only: polling finds the task.
    }
  }
}

const REASON_OF_CODE: { readonly [code: string]: Reason } = {
  CODE_CHANGED: 'code_changed',
  EFFECT_REQUEST_CHANGED: 'effect_request_changed',
  EFFECT_UNKNOWN: 'effect_unknown',
}

/** What the agent's function threw: a step's own failure keeps its reason, a changed code stops the task at once. */
function failureThrown(error: unknown): Failure {
  const failure = failureOf(error)
  if (isFootholdError(error, 'STEP_FAILED')) {
    const { key, reason } = error.details as { readonly key: string; readonly reason: Reason }
    return { ...failure, reason, retryable: false, step: key }
  }
  if (isFootholdError(error, 'TASK_DEAD_LETTER') || isFootholdError(error, 'TASK_CANCELLED')) {
    const { key } = error.details as { readonly key?: string }
    // Of a task that is no child: the author's code asked for it, and may ask again.
    return key === undefined ? failure : { ...failure, reason: 'child_failed', retryable: false, step: key }
  }
  const reason = REASON_OF_CODE[failure.code]
  if (reason === undefined) return failure
  const { key } = (error as FootholdError<'CODE_CHANGED'>).details
  return { ...failure, reason, retryable: false, ...(key === null ? {} : { step: key }) }
}
