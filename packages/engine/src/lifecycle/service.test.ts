import { expect, test, vi } from 'vitest'
import { type Loop, type LoopOptions, startLoop } from './service.ts'

const HOUR_MS = 3_600_000

/** A loop whose rounds the test sees begin and ends one by one. */
function setup(options: Partial<LoopOptions> = {}) {
  const rounds: { end(): void; fail(error: unknown): void; readonly signal: AbortSignal }[] = []
  const errors: unknown[] = []
  const loop = startLoop({
    name: 'reap',
    everyMs: HOUR_MS,
    run: (signal) => new Promise<void>((end, fail) => rounds.push({ end, fail, signal })),
    onError: (error) => errors.push(error),
    ...options,
  } as LoopOptions)
  return {
    loop,
    rounds,
    errors,
    begun: (count: number) => vi.waitFor(() => expect(rounds).toHaveLength(count)),
    end: async () => {
      const stopped = loop.stop()
      for (const round of rounds) round.end()
      await stopped
    },
  }
}

/** Long enough for a round that should not begin to begin: all that is due has run. */
async function turnsOfTheLoop(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve))
}

test('the first round begins at once, the next after the pause', async () => {
  const { rounds, begun, end } = setup({ everyMs: 5 })
  await begun(1)
  rounds[0]?.end()

  await begun(2)

  await end()
})

test('rounds never overlap: waking during a round runs once more after it, however often it was woken', async () => {
  const { loop, rounds, begun, end } = setup()
  await begun(1)

  loop.wake()
  loop.wake()
  await turnsOfTheLoop()
  expect(rounds).toHaveLength(1)
  rounds[0]?.end()
  await begun(2)
  rounds[1]?.end()
  await turnsOfTheLoop()

  expect(rounds).toHaveLength(2)
  await end()
})

test('waking during the pause runs at once', async () => {
  const { loop, rounds, begun, end } = setup()
  await begun(1)
  rounds[0]?.end()
  await turnsOfTheLoop()

  loop.wake()
  await begun(2)

  await end()
})

test('a failed round is reported and the loop goes on, also when it threw at once or the reporter fails', async () => {
  let runs = 0
  const told: unknown[] = []
  const loop = startLoop({
    name: 'sweep',
    everyMs: 0,
    run: () => {
      runs += 1
      throw new Error(`сбой ${runs}`)
    },
    onError: (error, name) => {
      told.push([(error as Error).message, name])
      throw new Error('the reporter fails too')
    },
  })

  await vi.waitFor(() => expect(runs).toBeGreaterThan(2))
  await loop.stop()

  expect(told.slice(0, 2)).toEqual([
    ['сбой 1', 'sweep'],
    ['сбой 2', 'sweep'],
  ])
})

test('stop aborts the round in flight, waits for its end, and may be called twice', async () => {
  const { loop, rounds, begun } = setup()
  await begun(1)
  let stopped = 0

  const both = [loop.stop(), loop.stop()].map((stop) => stop.then(() => (stopped += 1)))
  expect(rounds[0]?.signal.aborted).toBe(true)
  await turnsOfTheLoop()
  expect(stopped).toBe(0)
  rounds[0]?.end()
  await Promise.all(both)

  expect(stopped).toBe(2)
})

test('a round that ends because of the stop is no error, one that fails meanwhile is', async () => {
  const polite = setup()
  await polite.begun(1)
  const politeStop = polite.loop.stop()
  polite.rounds[0]?.fail(polite.rounds[0].signal.reason)
  await politeStop

  const broken = setup()
  await broken.begun(1)
  const brokenStop = broken.loop.stop()
  broken.rounds[0]?.fail(new Error('нет связи'))
  await brokenStop

  expect(polite.errors).toEqual([])
  expect(broken.errors).toEqual([new Error('нет связи')])
})

test('stopped during the pause, or before its first round, it runs no more, and waking does nothing', async () => {
  const pausing = setup()
  await pausing.begun(1)
  pausing.rounds[0]?.end()
  await turnsOfTheLoop()
  await pausing.loop.stop()
  pausing.loop.wake()

  const unborn = setup()
  await unborn.loop.stop()
  unborn.loop.wake()
  await turnsOfTheLoop()

  expect(pausing.rounds).toHaveLength(1)
  expect(unborn.rounds).toHaveLength(0)
})

test('the pause may be asked for after each round, and null waits until woken', async () => {
  const pauses = [0, null, 0]
  const { loop, rounds, begun, end } = setup({ everyMs: undefined, next: () => pauses.shift() ?? null } as never)
  await begun(1)
  rounds[0]?.end()
  await begun(2)
  rounds[1]?.end()
  await turnsOfTheLoop()
  expect(rounds).toHaveLength(2)

  loop.wake()
  await begun(3)

  await end()
})

test('a loop that wakes itself in every round leaves the event loop to others', async () => {
  let loop: Loop | null = null
  let runs = 0
  loop = startLoop({
    name: 'eager',
    everyMs: HOUR_MS,
    run: () => {
      runs += 1
      loop?.wake()
    },
    onError: () => {},
  })

  await vi.waitFor(() => expect(runs).toBeGreaterThan(3))
  await loop.stop()
})

test('jitter shortens the pause by its share and never lengthens it', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  try {
    let runs = 0
    const loop = startLoop({
      name: 'promote',
      everyMs: 1000,
      jitterRatio: 0.4,
      random: () => 0.5,
      run: () => void (runs += 1),
      onError: () => {},
    })
    await vi.advanceTimersByTimeAsync(799)
    expect(runs).toBe(1)

    await vi.advanceTimersByTimeAsync(1)

    expect(runs).toBe(2)
    await loop.stop()
  } finally {
    vi.useRealTimers()
  }
})
