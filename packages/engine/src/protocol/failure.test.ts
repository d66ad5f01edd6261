import { describe, expect, test } from 'vitest'
import { FootholdError, ReasonedError, RetryError, TerminalError } from './errors.ts'
import { decideRetry, failureOf } from './failure.ts'

describe('what a failure is', () => {
  test('the author says whether a retry helps, and a definite refusal is told apart from an unknown outcome', () => {
    expect(failureOf(new TerminalError('400', { reason: 'crm_rejected' }))).toMatchObject({
      retryable: false,
      isDefinite: true,
      reason: 'crm_rejected',
    })
    expect(failureOf(new RetryError('429', { reason: 'llm_rate_limited', afterMs: 3_000 }))).toMatchObject({
      retryable: true,
      isDefinite: true,
      afterMs: 3_000,
    })
    expect(failureOf(new ReasonedError('reset', { reason: 'crm_unavailable' }))).toMatchObject({
      retryable: true,
      isDefinite: false,
    })
    expect(failureOf(new Error('fetch failed', { cause: new Error('ECONNRESET') }))).toMatchObject({
      reason: 'step_failed',
      message: 'fetch failed (ECONNRESET)',
    })
  })

  test('what cannot be stored is not tried again', () => {
    const error = new FootholdError('VALUE_NOT_STORABLE', { field: 'x', path: '$', what: 'a function' })
    expect(failureOf(error).retryable).toBe(false)
  })

  test.each([[Object.create(null)], [undefined], [Symbol('x')], [new AggregateError([new Error('отказ')])]])(
    'whatever is thrown becomes a failure with a text (%#)',
    (thrown) => {
      expect(failureOf(thrown).message).not.toBe('')
    },
  )
})

describe('when to try again', () => {
  const failure = failureOf(new Error('x'))

  test('delays double under a ceiling, with jitter, and the tries have an end', () => {
    const at = (tries: number): unknown =>
      decideRetry(failure, tries, { attemptsMax: 5, firstDelayMs: 1_000, delayMaxMs: 3_000 }, () => 1)
    expect([1, 2, 3, 5].map(at)).toEqual([
      { kind: 'retry', delayMs: 1_000 },
      { kind: 'retry', delayMs: 2_000 },
      { kind: 'retry', delayMs: 3_000 },
      { kind: 'final' },
    ])
    expect(decideRetry(failure, 1, {}, () => 0)).toEqual({ kind: 'retry', delayMs: 50 })
  })

  test('what is merely unavailable has no limit of tries', () => {
    const away = failureOf(new ReasonedError('502', { reason: 'llm_unavailable' }))
    expect(decideRetry(away, 1_000, { attemptsMax: 5 }, () => 0.5).kind).toBe('retry')
  })

  test('after a shared Retry-After nobody is early and the retries spread over a fifth of it at least', () => {
    const limited = failureOf(new RetryError('429', { reason: 'llm_rate_limited', afterMs: 30_000 }))
    const delays = Array.from({ length: 100 }, (_, n) => decideRetry(limited, 1, {}, () => n / 100)).map(
      (d) => (d as { delayMs: number }).delayMs,
    )
    expect(Math.min(...delays)).toBeGreaterThanOrEqual(30_000)
    expect(Math.max(...delays) - Math.min(...delays)).toBeGreaterThan(5_900)
  })

  test.each([[Number.NaN], [Number.POSITIVE_INFINITY], [-5]])(
    'a Retry-After of %d cannot park a task for ever',
    (afterMs) => {
      const decision = decideRetry(failureOf(new RetryError('429', { afterMs })), 1, {}, () => 0.5)
      expect((decision as { delayMs: number }).delayMs).toBeLessThan(2 * 86_400_000)
    },
  )
})
