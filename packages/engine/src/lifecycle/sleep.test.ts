import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { sleep } from './sleep.ts'

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

test('a sleep ends when its time has passed, not before', async () => {
  let outcome: string | null = null
  void sleep(1000).then((how) => {
    outcome = how
  })

  await vi.advanceTimersByTimeAsync(999)
  expect(outcome).toBeNull()
  await vi.advanceTimersByTimeAsync(1)

  expect(outcome).toBe('elapsed')
})

test('an aborted signal ends it at once, without an error and without a timer left behind', async () => {
  const stopping = new AbortController()
  const sleeping = sleep(60_000, stopping.signal)

  stopping.abort()

  expect(await sleeping).toBe('aborted')
  expect(vi.getTimerCount()).toBe(0)
  expect(await sleep(60_000, stopping.signal)).toBe('aborted')
  expect(vi.getTimerCount()).toBe(0)
})

test('longer than a timer can hold is as long as it says', async () => {
  const month = 31 * 24 * 3600 * 1000
  let outcome: string | null = null
  void sleep(month).then((how) => {
    outcome = how
  })

  await vi.advanceTimersByTimeAsync(month - 1)
  expect(outcome).toBeNull()
  await vi.advanceTimersByTimeAsync(1)

  expect(outcome).toBe('elapsed')
})

test.each([0, -5, NaN])('%s ms is the next turn of the loop', async (ms) => {
  const sleeping = sleep(ms)
  await vi.advanceTimersByTimeAsync(1)

  expect(await sleeping).toBe('elapsed')
})

test('without end it lasts until it is aborted', async () => {
  const stopping = new AbortController()
  const sleeping = sleep(Infinity, stopping.signal)
  await vi.advanceTimersByTimeAsync(2 ** 31 * 3)

  stopping.abort()

  expect(await sleeping).toBe('aborted')
})

test('many sleeps under one signal leave no listener and cause no warning', async () => {
  const stopping = new AbortController()
  const warnings: unknown[] = []
  const heard = (warning: unknown): void => void warnings.push(warning)
  process.on('warning', heard)
  const remove = vi.spyOn(stopping.signal, 'removeEventListener')

  const sleeping = Array.from({ length: 50 }, () => sleep(10, stopping.signal))
  await vi.advanceTimersByTimeAsync(10)
  await Promise.all(sleeping)
  vi.useRealTimers()
  // Warnings are told on the next tick.
  await new Promise((resolve) => setImmediate(resolve))

  expect(remove).toHaveBeenCalledTimes(50)
  expect(warnings).toEqual([])
  process.off('warning', heard)
})
