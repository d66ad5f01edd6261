import { Worker } from 'node:worker_threads'
import { expect, test } from 'vitest'
import { monotonicMs, systemClock } from './clock.ts'

test('monotonic time is on one scale in all threads of the process', async () => {
  const before = monotonicMs()
  // The same reading as clock.ts makes, in a thread that was started later.
  const thread = new Worker(
    "require('node:worker_threads').parentPort.postMessage(Number(process.hrtime.bigint()) / 1e6)",
    { eval: true },
  )
  const inThread = await new Promise<number>((resolve) => thread.once('message', resolve))
  const after = monotonicMs()
  await thread.terminate()

  expect(inThread).toBeGreaterThan(before)
  expect(inThread).toBeLessThan(after)
})

test('the system clock shows the time of day', () => {
  expect(Math.abs(systemClock.wallMs() - Date.now())).toBeLessThan(1000)
})
