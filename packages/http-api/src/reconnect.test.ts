import { expect, test } from 'vitest'
import { reconnectDelayMs } from './reconnect.ts'

const calm = { failures: 0, hintMs: 1_000, retryAfterMs: null, random: 1 }

test('the wait doubles with each failure, up to half a minute', () => {
  const delays = [0, 1, 2, 10, 10_000].map((failures) => reconnectDelayMs({ ...calm, failures }))

  expect(delays).toEqual([1_000, 2_000, 4_000, 30_000, 30_000])
})

test('watchers of one server come back spread over half of the wait', () => {
  expect(reconnectDelayMs({ ...calm, random: 0 })).toBe(500)
})

test('what the server asked to wait is waited', () => {
  expect(reconnectDelayMs({ ...calm, random: 0, retryAfterMs: 7_000 })).toBe(7_000)
})
