import { isFootholdError } from './errors.ts'
import { isUnavailability, type Reason } from './reasons.ts'
import type { RetryPolicy } from './task-context.ts'

/** What went wrong in one try of a step, as values. */
export interface Failure {
  readonly reason: Reason
  readonly code: string
  readonly message: string
  /** False: no further try will help. */
  readonly retryable: boolean
  /** Lower bound of the next delay. */
  readonly afterMs: number
  /** Of an effect: the receiver surely did nothing. */
  readonly isDefinite: boolean
  /** The step that is to blame, where the engine knows it. */
  readonly step?: string
}

/** What can never be stored fails once, visibly, and is not retried. */
const TERMINAL_CODES = new Set([
  'VALUE_NOT_STORABLE',
  'PAYLOAD_TOO_LARGE',
  'INVALID_ARGUMENT',
  'INPUT_INVALID',
  'STEP_KEY_REUSED',
])

export function failureOf(error: unknown): Failure {
  const message = messageOf(error)
  const brand = (error as { readonly '~foothold.failure'?: unknown } | null | undefined)?.['~foothold.failure']
  const named = error as { readonly reason: Reason; readonly afterMs?: number }
  if (brand === 'terminal') {
    return { reason: named.reason, code: 'TERMINAL', message, retryable: false, afterMs: 0, isDefinite: true }
  }
  if (brand === 'retry') {
    const afterMs = boundedDelayMs(named.afterMs)
    return { reason: named.reason, code: 'RETRY', message, retryable: true, afterMs, isDefinite: true }
  }
  if (brand === 'reasoned') {
    return { reason: named.reason, code: 'FAILED', message, retryable: true, afterMs: 0, isDefinite: false }
  }
  if (isFootholdError(error)) {
    const reason: Reason =
      error.code === 'STEP_TIMEOUT' ? 'timeout' : error.code === 'INPUT_INVALID' ? 'input_invalid' : 'step_failed'
    return {
      reason,
      code: error.code,
      message,
      retryable: !TERMINAL_CODES.has(error.code),
      afterMs: 0,
      isDefinite: false,
    }
  }
  return { reason: 'step_failed', code: 'FAILED', message, retryable: true, afterMs: 0, isDefinite: false }
}

/** A Retry-After of another planet must not park a task for years; nor must one that is no number stop the retry. */
const AFTER_MS_MAX = 86_400_000

function boundedDelayMs(ms: number | undefined): number {
  return ms === undefined || Number.isNaN(ms) ? 0 : Math.min(AFTER_MS_MAX, Math.max(0, ms))
}

function messageOf(error: unknown): string {
  if (error instanceof AggregateError && error.message === '' && error.errors.length > 0) {
    return messageOf(error.errors[0])
  }
  if (error instanceof Error) {
    const cause = error.cause instanceof Error ? ` (${error.cause.message})` : ''
    return `${error.name === 'Error' ? '' : `${error.name}: `}${error.message}${cause}`
  }
  if (typeof error === 'string') return error
  try {
    return `thrown: ${String(error)}`
  } catch {
    return 'thrown: a value that has no text'
  }
}

const ATTEMPTS_MAX = 5
const FIRST_DELAY_MS = 1_000
const DELAY_MAX_MS = 60_000
/** Of the full delay: what is tried without a limit of tries must not be tried in a hot loop. */
const DELAY_FLOOR = 0.05

export type RetryDecision = { readonly kind: 'retry'; readonly delayMs: number } | { readonly kind: 'final' }

/**
 * Exponential with full jitter, so that a hundred tasks refused in one second do not come back in one second. A named
 * lower bound is kept and the jitter laid on top of it, over at least a fifth of the wait. What is merely unavailable is
 * not counted: it is tried until the task's deadline.
 */
export function decideRetry(failure: Failure, tries: number, policy: RetryPolicy, random: () => number): RetryDecision {
  const { attemptsMax = ATTEMPTS_MAX, firstDelayMs = FIRST_DELAY_MS, delayMaxMs = DELAY_MAX_MS } = policy
  if (!failure.retryable) return { kind: 'final' }
  if (tries >= attemptsMax && !isUnavailability(failure.reason)) return { kind: 'final' }
  const ceilingMs = Math.min(delayMaxMs, firstDelayMs * 2 ** Math.min(tries - 1, 30))
  if (failure.afterMs === 0) return { kind: 'retry', delayMs: Math.round(Math.max(random(), DELAY_FLOOR) * ceilingMs) }
  const spreadMs = Math.max(ceilingMs, failure.afterMs / 5)
  return { kind: 'retry', delayMs: Math.round(failure.afterMs + random() * spreadMs) }
}
