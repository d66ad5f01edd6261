import { reach } from '../lifecycle/probe.ts'
import { cleanMessage, decode, encode } from '../protocol/codec.ts'
import { FootholdError, isFootholdError } from '../protocol/errors.ts'
import { decideRetry, type Failure, failureOf, type RetryDecision } from '../protocol/failure.ts'
import { isUnavailability, type Reason } from '../protocol/reasons.ts'
import type { RetryPolicy, StepContext, StepOptions } from '../protocol/task-context.ts'
import type { LoadedStep } from '../store/claim.ts'
import type { Branch } from './branches.ts'
import type { Execution } from './execution.ts'
import { BLANK_WRITE, errorText } from './step-write.ts'
import { openTokenAccount } from './token-account.ts'

/** Tries of one step, until it is stored, fails for good, or waits for its next try. */

const STEP_TIMEOUT_MS = 300_000

/** Where the tries of a step stand; moves with every failure. */
export interface StepProgress {
  readonly key: string
  readonly kind: 'step' | 'transaction' | 'effect'
  readonly version: number
  readonly timeoutMs: number
  readonly policy: RetryPolicy
  tries: number
  /** Why the last one failed. */
  lastReason: Reason | null
}

export function progressOf(
  execution: Execution,
  key: string,
  kind: StepProgress['kind'],
  options: StepOptions,
  step: LoadedStep | null,
  timeoutMs: number = STEP_TIMEOUT_MS,
): StepProgress {
  return {
    key,
    kind,
    version: options.version ?? 1,
    timeoutMs: options.timeoutMs ?? timeoutMs,
    policy: { ...execution.retry, ...options.retry },
    tries: step?.tries ?? 0,
    lastReason: step?.error?.reason ?? null,
  }
}

export async function runStep(
  execution: Execution,
  key: string,
  run: (context: StepContext) => unknown,
  options: StepOptions,
): Promise<unknown> {
  const step = execution.open(key, 'step', options.version ?? 1)
  if (step?.status === 'completed') return execution.valueOf(step)
  throwIfFinal(step)
  const progress = progressOf(execution, key, 'step', options, step)
  await backOffLeft(execution, step)
  return tryUntilStored(execution, progress, async (context) => {
    const startedMs = execution.services.clock.monotonicMs()
    const result = await context.limited(() => run(context))
    // Too late: the try has failed already, and its task may have gone on by that.
    context.signal.throwIfAborted()
    await reach('step.ran', execution.fence.taskId, key)
    const output = encode(result, `the result of step ${JSON.stringify(key)}`)
    return storeResult(execution, progress, context, output, startedMs)
  })
}

export async function storeResult(
  execution: Execution,
  progress: StepProgress,
  context: TryContext,
  output: string,
  startedMs: number,
): Promise<unknown> {
  await context.shown()
  const answer = await execution.store({
    ...BLANK_WRITE,
    key: progress.key,
    kind: progress.kind,
    version: progress.version,
    status: 'completed',
    tries: progress.tries + 1,
    output,
    usage: context.usageText(),
    startedAgoMs: execution.services.clock.monotonicMs() - startedMs,
  })
  await reach('step.stored', execution.fence.taskId, progress.key)
  return decode(answer.kind === 'stands' ? (answer.step.output ?? 'null') : output)
}

/** A step context with what the runner itself needs of a try. */
export interface TryContext extends StepContext {
  /** Runs the author's code under the step's time limit. What the engine itself waits for is not the step's time. */
  limited<T>(work: () => T | Promise<T>): Promise<T>
  /** Resolves when all that was emitted can be seen. */
  shown(): Promise<void>
  usageText(): string | null
}

/** Runs `attempt` under a time limit and the lease, again and again as the policy allows, parking in between. */
export async function tryUntilStored(
  execution: Execution,
  progress: StepProgress,
  attempt: (context: TryContext) => Promise<unknown>,
  policy: FailurePolicy = {
    decide: (_failure, decision) => decision,
    store: (failure, decision) => storeFailure(execution, progress, failure, decision),
  },
): Promise<unknown> {
  for (;;) {
    const branch = await tryOnce(execution, progress, attempt, policy)
    if ('value' in branch) return branch.value
    await execution.park(branch)
  }
}

export interface FailurePolicy {
  /** May give the step another try than its retry policy says. */
  decide(failure: Failure, decision: RetryDecision): RetryDecision
  store(failure: Failure, decision: RetryDecision): Promise<void>
}

/** In flight until its outcome is stored, a failure's too: a task that parked before would forget when to try again. */
async function tryOnce(
  execution: Execution,
  progress: StepProgress,
  attempt: (context: TryContext) => Promise<unknown>,
  policy: FailurePolicy,
): Promise<{ readonly value: unknown } | Branch> {
  await execution.enter(progress.key)
  try {
    const outcome = await oneTry(execution, progress, attempt)
    if (outcome.kind === 'done') return { value: outcome.value }
    if (outcome.kind === 'park') return outcome.branch
    const { failure } = outcome
    progress.tries += 1
    execution.countFailure()
    execution.services.meter.stepFailed(execution.task.agent, failure.reason)
    // Tries that met an outage are not held against the first real failure after it.
    const tries = progress.lastReason !== null && isUnavailability(progress.lastReason) ? 1 : progress.tries
    progress.lastReason = failure.reason
    const decision = policy.decide(failure, decideRetry(failure, tries, progress.policy, execution.services.random))
    await policy.store(failure, decision)
    logFailure(execution, progress, failure, decision)
    if (decision.kind === 'final') throw stepFailed(progress.key, failure, progress.tries)
    return {
      key: progress.key,
      kind: 'retry',
      dueAtMs: execution.services.clock.monotonicMs() + decision.delayMs,
      reason: failure.reason,
      detail: `${progress.key}, try ${progress.tries}: ${cleanMessage(failure.message)}`,
    }
  } finally {
    execution.leave()
  }
}

type TryOutcome =
  | { readonly kind: 'done'; readonly value: unknown }
  | { readonly kind: 'failed'; readonly failure: Failure }
  | { readonly kind: 'park'; readonly branch: Branch }

/** Thrown inside a try that must wait before it can go on: for a doubt to run out, or for a person. No failure. */
export class ParkFirst extends Error {
  readonly branch: Branch

  constructor(branch: Branch) {
    super(`step ${branch.key} waits`)
    this.branch = branch
  }
}

async function oneTry(
  execution: Execution,
  progress: StepProgress,
  attempt: (context: TryContext) => Promise<unknown>,
): Promise<TryOutcome> {
  const { key, timeoutMs } = progress
  const running = execution.openTry(progress.kind === 'effect')
  const stream = execution.services.chunks.open({ ...execution.fence, key, tries: progress.tries + 1 })
  const { meter, clock } = execution.services
  const account = openTokenAccount((usage, fate) => meter.tokens(execution.task.agent, usage, fate))
  let isKept = false
  try {
    await execution.services.lease.ensureGood(running.signal)
    await reach('step.started', execution.fence.taskId, key)
    const startedMs = clock.monotonicMs()
    const context: TryContext = {
      signal: running.signal,
      tries: progress.tries + 1,
      emit: (channel, chunk) => stream.emit(channel, chunk),
      recordUsage: (usage) => account.record(usage),
      limited: async (work) => {
        const expired = (): void => running.abort(new FootholdError('STEP_TIMEOUT', { key, timeoutMs }))
        const timer = setTimeout(expired, timeoutMs)
        try {
          return await work()
        } finally {
          clearTimeout(timer)
        }
      },
      shown: () => stream.end(),
      usageText: () => (account.usage === null ? null : encode(account.usage, 'usage')),
    }
    const value = await orAborted(attempt(context), running.signal)
    isKept = true
    meter.stepStored(execution.task.agent, progress.kind, (clock.monotonicMs() - startedMs) / 1_000)
    return { kind: 'done', value }
  } catch (error) {
    if (error instanceof ParkFirst) return { kind: 'park', branch: error.branch }
    const ended = [error, running.signal.reason].find((reason) => isFootholdError(reason, 'ATTEMPT_ENDED'))
    if (ended !== undefined) {
      stream.leaveTrace()
      throw ended
    }
    if (isControl(error)) throw error
    return { kind: 'failed', failure: failureOf(running.signal.aborted ? running.signal.reason : error) }
  } finally {
    account.close(isKept ? 'kept' : 'wasted')
    running.close()
    void stream.end()
  }
}

/** The time limit holds whatever the code does: the caller goes on though the promise may never settle. */
function orAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const aborted = (): void => reject(signal.reason as Error)
    if (signal.aborted) aborted()
    signal.addEventListener('abort', aborted, { once: true })
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', aborted))
  })
}

/** Errors of the engine that stop the task as they are, not tries of the step. */
function isControl(error: unknown): boolean {
  return (
    isFootholdError(error, 'CODE_CHANGED') ||
    isFootholdError(error, 'EFFECT_REQUEST_CHANGED') ||
    isFootholdError(error, 'EFFECT_UNKNOWN') ||
    isFootholdError(error, 'STEP_FAILED')
  )
}

async function storeFailure(
  execution: Execution,
  progress: StepProgress,
  failure: Failure,
  decision: RetryDecision,
): Promise<void> {
  await execution.store({
    ...BLANK_WRITE,
    key: progress.key,
    kind: progress.kind,
    version: progress.version,
    status: 'failed',
    tries: progress.tries,
    retryable: decision.kind === 'retry',
    error: errorText(failure),
    dueInMs: decision.kind === 'retry' ? decision.delayMs : null,
  })
}

function logFailure(execution: Execution, progress: StepProgress, failure: Failure, decision: RetryDecision): void {
  execution.services.logger.warn(
    {
      task: execution.fence.taskId,
      attempt: execution.fence.attempt,
      step: progress.key,
      tries: progress.tries,
      reason: failure.reason,
      retryInMs: decision.kind === 'retry' ? decision.delayMs : null,
      message: cleanMessage(failure.message, 500),
    },
    decision.kind === 'retry' ? 'step failed, will be tried again' : 'step failed for good',
  )
}

export function stepFailed(key: string, failure: { reason: Reason; message: string }, tries: number): FootholdError {
  return new FootholdError('STEP_FAILED', { key, reason: failure.reason, tries, message: failure.message })
}

/** A step that failed for good fails the same way in every later attempt, until a person resumes the task. */
export function throwIfFinal(step: LoadedStep | null): void {
  if (step?.status !== 'failed' || step.retryable) return
  const { reason = 'step_failed', message = 'no message was stored' } = step.error ?? {}
  throw stepFailed(step.key, { reason, message }, step.tries)
}

/** The rest of a back-off that another branch's wake-up cut short. */
export async function backOffLeft(execution: Execution, step: LoadedStep | null): Promise<void> {
  if (step === null || step.status === 'completed' || step.dueInMs === null || step.dueInMs <= 0) return
  await execution.park({
    key: step.key,
    kind: 'retry',
    dueAtMs: execution.services.clock.monotonicMs() + step.dueInMs,
    reason: step.error?.reason ?? null,
    detail: step.error?.message ?? null,
  })
}
