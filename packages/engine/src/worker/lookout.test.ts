import { expect, test } from 'vitest'
import { createLookout, type Lookout } from './lookout.ts'

const STEADY_MS = 20_000

function row(id: string, isHeld: boolean, heartbeatAt = '2026-12-02 10:00:00.000001+00', hasLifeline = false) {
  return { id, isHeld, heartbeatAt, hasLifeline }
}

/** Looks every 100 ms from `fromMs` until `toMs`, and gives what the last look said. */
function looks(lookout: Lookout, fromMs: number, toMs: number, rows: readonly ReturnType<typeof row>[]): string[] {
  let dead: readonly { readonly id: string }[] = []
  for (let atMs = fromMs; atMs <= toMs; atMs += 100) dead = lookout.look(atMs, rows)
  return dead.map(({ id }) => id)
}

function steady(...ids: readonly string[]): Lookout {
  const lookout = createLookout({ workerId: () => 'me', nowMs: 0, sessionSinceMs: 0 })
  looks(
    lookout,
    0,
    STEADY_MS,
    ids.map((id) => row(id, true)),
  )
  return lookout
}

test('a lifeline that was held and is free at two looks is a death', () => {
  const lookout = steady('a', 'b')

  expect(lookout.look(STEADY_MS + 100, [row('a', false), row('b', true)])).toEqual([])
  expect(lookout.look(STEADY_MS + 200, [row('a', false), row('b', true)])).toEqual([])
  expect(lookout.look(STEADY_MS + 300, [row('a', false), row('b', true)])).toEqual([row('a', false)])
})

test('a lifeline that was never seen held tells nothing', () => {
  const lookout = steady('a')

  expect(looks(lookout, STEADY_MS + 100, STEADY_MS + 9_000, [row('a', true), row('new', false)])).toEqual([])
})

test('a session that has lasted trusts its first looks', () => {
  const lookout = createLookout({ workerId: () => 'me', nowMs: STEADY_MS, sessionSinceMs: 0 })
  lookout.look(STEADY_MS, [row('a', true)])

  expect(looks(lookout, STEADY_MS + 100, STEADY_MS + 300, [row('a', false)])).toEqual(['a'])
})

test('a lifeline that its worker had, and that no look has seen, is a death after six seconds', () => {
  const lookout = createLookout({ workerId: () => 'me', nowMs: 0, sessionSinceMs: 0 })
  const predecessor = row('before me', false, 'its last one', true)

  expect(looks(lookout, 0, 5_900, [predecessor])).toEqual([])
  expect(looks(lookout, 6_000, 6_100, [predecessor])).toEqual(['before me'])
  expect(looks(lookout, 20_000, 20_100, [row('moves', false, 'a', true)])).toEqual([])
  expect(looks(lookout, 20_200, 30_000, [row('moves', false, 'b', false)])).toEqual([])
})

test('a worker that beats without its lifeline lives', () => {
  const lookout = steady('a')
  lookout.look(STEADY_MS + 100, [row('a', false)])

  expect(looks(lookout, STEADY_MS + 200, STEADY_MS + 9_000, [row('a', false, 'later')])).toEqual([])
})

test('a lifeline that is back before the second look was cut, and the next cut is counted anew', () => {
  const lookout = steady('a')
  lookout.look(STEADY_MS + 100, [row('a', false)])
  lookout.look(STEADY_MS + 200, [row('a', true)])
  looks(lookout, STEADY_MS + 300, STEADY_MS + 9_000, [row('a', true)])

  expect(lookout.look(STEADY_MS + 9_100, [row('a', false)])).toEqual([])
  expect(looks(lookout, STEADY_MS + 9_200, STEADY_MS + 9_300, [row('a', false)])).toEqual(['a'])
})

test('several lifelines that break within a second get six more to come back', () => {
  const lookout = steady('a', 'b', 'c')
  lookout.look(STEADY_MS + 100, [row('a', false), row('b', true), row('c', true)])
  const both = [row('a', false), row('b', false), row('c', true)]

  expect(looks(lookout, STEADY_MS + 200, STEADY_MS + 6_000, both)).toEqual([])
  expect(looks(lookout, STEADY_MS + 6_100, STEADY_MS + 6_300, both)).toEqual(['a', 'b'])
})

test('a worker that begins, its lifeline not yet taken, does not slow down the verdict about another', () => {
  const lookout = steady('a')
  const begins = row('new', false, 'its first one', true)
  lookout.look(STEADY_MS + 100, [row('a', true), begins])

  expect(looks(lookout, STEADY_MS + 200, STEADY_MS + 400, [row('a', false), begins])).toEqual(['a'])
})

test('a truly dead one among many that came back is still found', () => {
  const lookout = steady('a', 'b', 'c')
  lookout.look(
    STEADY_MS + 100,
    ['a', 'b', 'c'].map((id) => row(id, false)),
  )

  const back = [row('a', true), row('b', false), row('c', true)]
  expect(looks(lookout, STEADY_MS + 200, STEADY_MS + 6_000, back)).toEqual([])
  expect(looks(lookout, STEADY_MS + 6_100, STEADY_MS + 6_200, back)).toEqual(['b'])
})

test.for([
  ['a young session', 0],
  ['a session that has just had a hole in its looks', STEADY_MS + 5_000],
] as const)('%s waits longer', ([, holeEndsMs]) => {
  const lookout = holeEndsMs === 0 ? createLookout({ workerId: () => 'me', nowMs: 0, sessionSinceMs: 0 }) : steady('a')
  const from = holeEndsMs + 100
  looks(lookout, holeEndsMs, from, [row('a', true)])

  expect(looks(lookout, from + 100, from + 6_000, [row('a', false)])).toEqual([])
  expect(looks(lookout, from + 6_100, from + 6_200, [row('a', false)])).toEqual(['a'])
})

test('what was seen free before a hole in the looks is counted anew after it', () => {
  const lookout = steady('a')
  lookout.look(STEADY_MS + 100, [row('a', false)])

  expect(looks(lookout, STEADY_MS + 30_000, STEADY_MS + 35_900, [row('a', false)])).toEqual([])
  expect(looks(lookout, STEADY_MS + 36_000, STEADY_MS + 36_000, [row('a', false)])).toEqual(['a'])
})

test('a lookout never judges itself, nor one that is gone from the list', () => {
  const lookout = steady('me', 'a')
  lookout.look(STEADY_MS + 100, [row('me', false), row('a', false)])

  expect(looks(lookout, STEADY_MS + 200, STEADY_MS + 9_000, [row('me', false)])).toEqual([])
  expect(looks(lookout, STEADY_MS + 9_100, STEADY_MS + 9_400, [row('me', false), row('a', false)])).toEqual([])
})
