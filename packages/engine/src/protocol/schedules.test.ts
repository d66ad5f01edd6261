import { describe, expect, test } from 'vitest'
import { parseCron } from './cron.ts'
import { type CatchUp, dueTicks } from './schedules.ts'

const due = (catchUp: CatchUp, nextAt: string, now: string, text = '* * * * *') => {
  const { ticks, ...rest } = dueTicks(
    { cron: parseCron('cron', text), timeZone: 'Europe/Moscow', catchUp },
    new Date(nextAt),
    new Date(now),
  )
  return { ...rest, ticks: ticks.map((tick) => tick.toISOString().slice(11, 16)) }
}

describe('one tick after the other, every policy runs each', () => {
  test.for(['once', 'skip', 'all'] as const)('%s', (catchUp) => {
    expect(due(catchUp, '2026-12-02T10:00:00Z', '2026-12-02T10:00:01Z')).toEqual({
      ticks: ['10:00'],
      nextAt: new Date('2026-12-02T10:01:00Z'),
      isMissed: false,
    })
  })
})

describe('after six hours of a schedule of every minute', () => {
  test.for([
    ['once', 1, '16:00', true],
    // The last one is on time: it was not missed.
    ['skip', 1, '16:00', true],
    ['all', 100, '14:21', true],
  ] as const)('%s runs %i, from %s', ([catchUp, count, first, isMissed]) => {
    const { ticks, nextAt, ...rest } = due(catchUp, '2026-12-02T10:00:00Z', '2026-12-02T16:00:30Z')

    expect(ticks).toHaveLength(count)
    expect(ticks[0]).toBe(first)
    expect(ticks.at(-1)).toBe('16:00')
    expect(nextAt).toEqual(new Date('2026-12-02T16:01:00Z'))
    expect(rest.isMissed).toBe(isMissed)
  })
})

describe('a nightly tick that was missed by two hours', () => {
  test.for([
    ['once', ['00:30'], false],
    ['skip', [], true],
    ['all', ['00:30'], false],
  ] as const)('%s', ([catchUp, ticks, isMissed]) => {
    expect(due(catchUp, '2026-12-02T00:30:00Z', '2026-12-02T02:40:00Z', '30 3 * * *')).toEqual({
      ticks,
      isMissed,
      nextAt: new Date('2026-12-03T00:30:00Z'),
    })
  })
})

test('a clock that was set back owes nothing, and the next tick is that of the new time', () => {
  expect(due('all', '2027-12-02T10:00:00Z', '2026-12-02T10:00:30Z')).toEqual({
    ticks: [],
    nextAt: new Date('2026-12-02T10:01:00Z'),
    isMissed: false,
  })
})
