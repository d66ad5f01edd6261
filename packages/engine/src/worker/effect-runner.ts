import { createHash } from 'node:crypto'
import { reach } from '../lifecycle/probe.ts'
import { canonicalJson } from '../protocol/canonical-json.ts'
import { decode, encode } from '../protocol/codec.ts'
import { FootholdError, isFootholdError } from '../protocol/errors.ts'
import { type Failure, failureOf, type RetryDecision } from '../protocol/failure.ts'
import type { Reason } from '../protocol/reasons.ts'
import type { Effect, EffectContext, FindableEffect, StoppingEffect } from '../protocol/task-context.ts'
import type { LoadedStep } from '../store/claim.ts'
import { type EffectPromise, readStep, storeIntent, takeOverIntent } from '../store/steps.ts'
import type { Execution } from './execution.ts'
import {
  backOffLeft,
  ParkFirst,
  progressOf,
  type StepProgress,
  storeResult,
  type TryContext,
  throwIfFinal,
  tryUntilStored,
} from './step-runner.ts'
import { BLANK_WRITE, errorText } from './step-write.ts'

/**
 * An effect changes something outside the database. Its row says what is known:
 * - `intent`: a request may have left; whether it took effect, nobody here knows
 * - `failed`: the receiver definitely did nothing
 * - `unknown`: a person is asked
 * - `completed`: the answer, or a person's word
 *
 * 1. The intent, with the request and its key, is committed before the request leaves.
 * 2. What leaves again are the stored bytes under the stored key; the key changes only after a definite refusal.
 * 3. After an unknown outcome the author's promise decides: same key, look-up, repetition, stop, or a person. The number
 *    of tries bounds requests, not this: a doubt that needs no further request is always settled.
 * 4. A request leaves right after its intent, or after a fresh one: the stored doubt must outlast it.
 */

/** Shorter than a step's: a successor has to wait it out before a look-up proves anything. */
const EFFECT_TIMEOUT_MS = 30_000

/** How old an intent may be when its request leaves. */
const INTENT_AGE_MS = 1_000

type AnyEffect = Effect<unknown, unknown> | StoppingEffect<unknown, unknown>

export async function runEffect(execution: Execution, key: string, effect: AnyEffect): Promise<unknown> {
  const step = execution.open(key, 'effect', effect.version ?? 1)
  if (step?.status === 'completed') return execution.valueOf(step)
  throwIfFinal(step)
  const runner = new EffectRunner(execution, key, effect, step)
  await backOffLeft(execution, step)
  return tryUntilStored(execution, runner.progress, (context) => runner.attempt(context), {
    decide: (failure, decision) => runner.decide(failure, decision),
    store: (failure, decision) => runner.storeFailure(failure, decision),
  })
}

class EffectRunner {
  readonly progress: StepProgress
  /** What made the doubt, where this attempt saw it: the attempt that waits it out ends under that reason. */
  #doubtReason: Reason = 'effect_unknown'
  readonly #execution: Execution
  readonly #key: string
  readonly #effect: AnyEffect
  readonly #request: string
  #row: LoadedStep | null
  /** In doubt until then, on the monotonic clock. */
  #doubtUntilMs: number
  #keyStartedMs: number
  /** When the statement that stored the present intent was sent. */
  #intentSentMs = Number.NEGATIVE_INFINITY
  /** Surely nothing that left under the present key has taken effect, or will. */
  #isUnsent = false
  /** The last try ended in a definite refusal by the receiver. */
  #wasRefused = false

  constructor(execution: Execution, key: string, effect: AnyEffect, step: LoadedStep | null) {
    this.#execution = execution
    this.#key = key
    this.#effect = effect
    this.#request = encode(effect.request, `the request of effect ${JSON.stringify(key)}`)
    this.#row = step
    this.progress = progressOf(execution, key, 'effect', effect, step, EFFECT_TIMEOUT_MS)
    const nowMs = execution.services.clock.monotonicMs()
    this.#doubtUntilMs = nowMs + (step?.doubtInMs ?? 0)
    this.#keyStartedMs = nowMs - (step?.ageMs ?? 0)
  }

  /** One try: settles what is in doubt, then sends if it must. */
  async attempt(context: TryContext): Promise<unknown> {
    const startedMs = this.#nowMs
    this.#wasRefused = false
    if (this.#row === null) await this.#storeIntent()
    else if (this.#row.status === 'unknown') this.#row = await this.#readRow()
    const row = this.#row as LoadedStep
    if (row.status === 'completed') return decode(row.output as string)
    if (row.status === 'unknown') return this.#askPerson()
    this.#checkRequest(row)
    if (row.status === 'intent' && !this.#isUnsent) {
      const settled = await this.#settleDoubt(context, row, startedMs)
      if (settled !== null) return settled.value
    }
    for (;;) {
      await this.#execution.services.lease.ensureGood(context.signal)
      const isFresh = this.#row?.status === 'intent' && this.#nowMs - this.#intentSentMs < INTENT_AGE_MS
      // The time until here may have been long: the database was away, or the process stood still.
      if (isFresh && (this.#isUnsent || !this.#isKeyForgotten())) return this.#send(context, startedMs)
      if (!this.#isUnsent && this.#row?.status === 'intent' && this.#isKeyForgotten()) return this.attempt(context)
      // Answered or decided meanwhile: what stands counts.
      if (!(await this.#takeOver(this.#row as LoadedStep))) return this.attempt(context)
    }
  }

  /** Where the author or a person has the last word, they get it whatever the number of tries. */
  decide(failure: Failure, decision: RetryDecision): RetryDecision {
    const needsNoRequest = this.#effect.onDoubt === 'stop' || this.#effect.onDoubt === 'ask'
    const isInDoubt = this.#row?.status === 'intent' && !this.#isUnsent && !this.#wasRefused
    const isOver = decision.kind === 'final' && failure.retryable
    return isOver && isInDoubt && needsNoRequest ? { kind: 'retry', delayMs: 0 } : decision
  }

  async storeFailure(failure: Failure, decision: RetryDecision): Promise<void> {
    const row = this.#row
    if (row === null) return
    const isDefinite = this.#wasRefused
    const dueInMs = decision.kind === 'retry' ? decision.delayMs : null
    // A final failure in doubt keeps the intent: the dead letter must not claim that nothing happened.
    const status = isDefinite ? 'failed' : row.status === 'failed' ? 'failed' : 'intent'
    const refusals = row.refusals + (isDefinite ? 1 : 0)
    const doubtInMs = status === 'intent' ? Math.max(0, this.#doubtUntilMs - this.#nowMs) : null
    await this.#execution.store({
      ...BLANK_WRITE,
      key: this.#key,
      kind: 'effect',
      version: this.progress.version,
      status,
      tries: this.progress.tries,
      retryable: decision.kind === 'retry' || status === 'intent',
      refusals,
      error: errorText(failure),
      dueInMs,
      doubtInMs,
    })
    this.#row = { ...row, status, refusals, tries: this.progress.tries }
    // The stored doubt is now that of the request that failed.
    this.#intentSentMs = Number.NEGATIVE_INFINITY
    this.#doubtReason = failure.reason
  }

  #isOurs(row: LoadedStep): boolean {
    return row.attempt === this.#execution.fence.attempt && row.workerId === this.#execution.fence.workerId
  }

  get #nowMs(): number {
    return this.#execution.services.clock.monotonicMs()
  }

  /** The receiver would take a repetition for a new request. */
  #isKeyForgotten(): boolean {
    const { keyWindowMs } = this.#effect
    return keyWindowMs !== undefined && this.#nowMs - this.#keyStartedMs >= keyWindowMs
  }

  get #findLagMs(): number {
    return 'findLagMs' in this.#effect ? this.#effect.findLagMs : 0
  }

  /** Until when a request that leaves now may still take effect at the receiver. */
  get #doubtForMs(): number {
    return INTENT_AGE_MS + this.progress.timeoutMs + this.#findLagMs
  }

  async #storeIntent(): Promise<void> {
    const { fence, services } = this.#execution
    const idempotencyKey = keyOf(fence.taskId, this.#key, 0)
    this.#intentSentMs = this.#nowMs
    const answer = await storeIntent(
      services.db,
      fence,
      {
        key: this.#key,
        version: this.progress.version,
        tries: this.progress.tries + 1,
        request: this.#request,
        idempotencyKey,
        doubtForMs: this.#doubtForMs,
        promise: promiseOf(this.#effect),
      },
      this.#execution.statement('storing an intent'),
    )
    if (!answer.held) this.#execution.loseLease()
    this.#keyStartedMs = services.clock.monotonicMs()
    this.#doubtUntilMs = this.#keyStartedMs + this.#doubtForMs
    // Not inserted: our own statement landed before its answer was lost, or somebody's row stands. The row tells.
    this.#row = answer.inserted ? this.#freshRow(idempotencyKey) : await this.#readRow()
    this.#isUnsent = this.#row.status === 'intent' && this.#isOurs(this.#row)
    await reach('intent.stored', fence.taskId, this.#key)
  }

  #freshRow(idempotencyKey: string): LoadedStep {
    return {
      key: this.#key,
      kind: 'effect',
      version: this.progress.version,
      status: 'intent',
      tries: this.progress.tries + 1,
      retryable: true,
      attempt: this.#execution.fence.attempt,
      workerId: this.#execution.fence.workerId,
      idempotencyKey,
      refusals: 0,
      request: this.#request,
      output: null,
      error: null,
      childId: null,
      isChildOver: false,
      dueInMs: null,
      doubtInMs: this.#doubtForMs,
      ageMs: 0,
    }
  }

  async #readRow(): Promise<LoadedStep> {
    const { fence, services } = this.#execution
    const row = await readStep(services.db, fence.taskId, this.#key, this.#execution.statement('reading an effect'))
    return row ?? this.#execution.loseLease()
  }

  /** A request that differs from the one that may have left is never sent silently. After a refusal it may be mended. */
  #checkRequest(row: LoadedStep): void {
    if (row.status !== 'intent' || row.request === null) return
    if (canonicalJson(row.request) === canonicalJson(this.#request)) return
    throw new FootholdError('EFFECT_REQUEST_CHANGED', { key: this.#key })
  }

  /** What the author's promise says about an unknown outcome. Null: send (again). */
  async #settleDoubt(context: TryContext, row: LoadedStep, startedMs: number): Promise<{ value: unknown } | null> {
    const effect = this.#effect
    switch (effect.onDoubt) {
      case 'repeat':
        return null
      case 'stop':
        return { value: await this.#storeOutcome(context, { outcome: 'unknown' }, startedMs) }
      case 'ask':
        return this.#askPerson()
      case undefined:
        break
    }
    if (effect.keyWindowMs !== undefined && !this.#isKeyForgotten()) return null
    if (effect.find === undefined) return this.#askPerson()
    this.#waitOutDoubt()
    await this.#execution.services.lease.ensureGood(context.signal)
    const found = await context.limited(() =>
      (effect as FindableEffect<unknown, unknown>).find(decode(row.request as string), this.#contextFor(context, row)),
    )
    if (found !== null) return { value: await this.#storeOutcome(context, found, startedMs) }
    this.#isUnsent = true
    return null
  }

  /** What may still take effect at the receiver makes every look-up worthless until then: the task waits, without a slot. */
  #waitOutDoubt(): void {
    if (this.#doubtUntilMs <= this.#nowMs) return
    throw new ParkFirst({
      key: this.#key,
      kind: 'retry',
      dueAtMs: this.#doubtUntilMs,
      reason: this.#doubtReason,
      detail: `${this.#key}: an earlier request may still take effect; it is looked up after that`,
    })
  }

  /** False: the row is settled; it has been read again. */
  async #takeOver(row: LoadedStep): Promise<boolean> {
    const { fence, services } = this.#execution
    const isRefused = row.status === 'failed'
    const idempotencyKey = isRefused ? keyOf(fence.taskId, this.#key, row.refusals) : (row.idempotencyKey as string)
    const request = isRefused ? this.#request : (row.request as string)
    this.#intentSentMs = this.#nowMs
    const isTaken = await takeOverIntent(
      services.db,
      fence,
      {
        key: this.#key,
        tries: this.progress.tries + 1,
        idempotencyKey,
        request,
        doubtForMs: this.#doubtForMs,
        promise: promiseOf(this.#effect),
      },
      this.#execution.statement('taking over an intent'),
    )
    if (!isTaken) {
      // A late answer to an earlier request, or the attempt is not ours any more.
      this.#row = (await this.#execution.stored(this.#key)) ?? this.#execution.loseLease()
      return false
    }
    this.#doubtUntilMs = this.#nowMs + this.#doubtForMs
    if (isRefused) {
      this.#isUnsent = true
      this.#keyStartedMs = this.#nowMs
    }
    this.#row = { ...row, ...fence, status: 'intent', idempotencyKey, request }
    await reach('intent.stored', fence.taskId, this.#key)
    return true
  }

  async #send(context: TryContext, startedMs: number): Promise<unknown> {
    const { fence } = this.#execution
    const row = this.#row as LoadedStep
    this.#isUnsent = false
    let result: unknown
    try {
      result = await context.limited(() =>
        this.#effect.send(decode(row.request as string), this.#contextFor(context, row)),
      )
    } catch (error) {
      if (isFootholdError(error, 'ATTEMPT_ENDED')) throw error
      return await this.#sendFailedWith(error, context, startedMs)
    }
    await reach('effect.answered', fence.taskId, this.#key)
    const value = await this.#storeOutcome(
      context,
      this.#effect.onDoubt === 'stop' ? { outcome: 'done', result } : result,
      startedMs,
    )
    await reach('effect.stored', fence.taskId, this.#key)
    return value
  }

  async #sendFailedWith(error: unknown, context: TryContext, startedMs: number): Promise<unknown> {
    const failure = failureOf(error)
    this.#wasRefused = failure.isDefinite
    if (failure.isDefinite) throw error
    // The request is over for us; only what the receiver still has in hand can change anything.
    this.#doubtUntilMs = this.#nowMs + this.#findLagMs
    if (this.#effect.onDoubt === 'stop' && !context.signal.aborted) {
      return this.#storeOutcome(context, { outcome: 'unknown' }, startedMs)
    }
    if (this.#effect.onDoubt === 'ask') return this.#askPerson()
    throw error
  }

  #contextFor(context: TryContext, row: LoadedStep): EffectContext {
    const { signal, tries, emit, recordUsage } = context
    return { signal, tries, emit, recordUsage, idempotencyKey: row.idempotencyKey as string }
  }

  async #storeOutcome(context: TryContext, result: unknown, startedMs: number): Promise<unknown> {
    const output = encode(result, `the result of effect ${JSON.stringify(this.#key)}`)
    return storeResult(this.#execution, this.progress, context, output, startedMs)
  }

  /** Parks until a person has decided; their word is stored as the step's result, or the effect is sent again. */
  async #askPerson(): Promise<never> {
    if (this.#row?.status !== 'unknown') {
      await this.#execution.store({
        ...BLANK_WRITE,
        key: this.#key,
        kind: 'effect',
        version: this.progress.version,
        status: 'unknown',
        tries: this.progress.tries + 1,
        refusals: this.#row?.refusals ?? 0,
        error: errorText({
          ...failureOf(new FootholdError('EFFECT_UNKNOWN', { key: this.#key })),
          reason: 'effect_unknown',
        }),
      })
    }
    throw new ParkFirst({
      key: this.#key,
      kind: 'person',
      dueAtMs: null,
      reason: 'effect_unknown',
      detail: `${this.#key}: nobody can know whether it happened; a person is asked`,
    })
  }
}

/** As `#settleDoubt` acts on it. */
function promiseOf(effect: AnyEffect): EffectPromise {
  if (effect.onDoubt !== undefined) return { keyWindowMs: null, onDoubt: effect.onDoubt }
  return { keyWindowMs: effect.keyWindowMs ?? null, onDoubt: effect.find === undefined ? 'ask' : 'find' }
}

/**
 * The same for every repetition of one request, whichever worker sends it; shaped as a UUID (version 8, RFC 9562) because
 * receivers often take nothing else.
 */
export function keyOf(taskId: string, key: string, refusals: number): string {
  const hash = createHash('sha256').update(`${taskId}\n${key}\n${refusals}`).digest()
  hash[6] = ((hash[6] as number) & 0x0f) | 0x80
  hash[8] = ((hash[8] as number) & 0x3f) | 0x80
  const hex = hash.toString('hex')
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20, 32)].join('-')
}
