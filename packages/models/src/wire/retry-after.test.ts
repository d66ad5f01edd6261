import { expect, test } from 'vitest'
import { retryAfterMs } from './retry-after.ts'

const NOW = Date.parse('2026-12-02T10:00:00Z')

test.each([
  ['30', 30_000],
  ['0.5', 500],
  ['0', 0],
  ['Wed, 02 Dec 2026 10:00:30 GMT', 30_000],
  ['Wed, 02 Dec 2026 09:00:00 GMT', 0],
  ['99999999', 3_600_000],
  ['-5', null],
  ['скоро', null],
  ['', null],
])('Retry-After %j means %j ms', (value, expected) => {
  const headers = { get: (name: string) => (name === 'retry-after' ? value : null) }

  expect(retryAfterMs(headers, NOW)).toBe(expected)
})

test('a date is compared with the server’s own clock when it tells it', () => {
  const headers = new Headers({
    'retry-after': 'Wed, 02 Dec 2026 10:00:30 GMT',
    date: 'Wed, 02 Dec 2026 10:00:00 GMT',
  })

  expect(retryAfterMs(headers, NOW + 3_600_000)).toBe(30_000)
})
