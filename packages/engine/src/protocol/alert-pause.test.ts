import { expect, test } from 'vitest'
import { alertPauseMs } from './alert-pause.ts'

const refused = { retryable: true, isDefinite: true, afterMs: 0 }
const doubtful = { ...refused, isDefinite: false }
const broken = { ...refused, retryable: false }

test.for([
  { what: 'a refusal', failure: refused, isFirstMessage: true, pauses: [1_000, 2_000, 4_000], longest: 60_000 },
  {
    what: 'a doubtful first send',
    failure: doubtful,
    isFirstMessage: true,
    pauses: [15_000, 30_000],
    longest: 600_000,
  },
  { what: 'a doubtful edit', failure: doubtful, isFirstMessage: false, pauses: [1_000, 2_000], longest: 60_000 },
  { what: 'a broken channel', failure: broken, isFirstMessage: true, pauses: [30_000, 60_000], longest: 600_000 },
])('after $what the pauses double, up to $longest ms', ({ failure, isFirstMessage, pauses, longest }) => {
  const pause = (failures: number): number => alertPauseMs(failure, { failures, isFirstMessage })

  expect(pauses.map((_, failures) => pause(failures))).toEqual(pauses)
  expect(pause(1_000)).toBe(longest)
})

test('a channel that names a time is not asked sooner', () => {
  expect(alertPauseMs({ ...refused, afterMs: 90_000 }, { failures: 0, isFirstMessage: true })).toBe(90_000)
})
