import { expect, test } from 'vitest'
import { readSoakOptions } from './options.ts'
import { reportOf, verdictsOf } from './report.ts'
import { soak } from './soak.ts'

/** Short ones, so that the soak itself cannot rot; the long ones are `npm run soak`. */

const red = (run: Awaited<ReturnType<typeof soak>>): string[] =>
  verdictsOf(run.findings).flatMap(({ name, found }) => (found.length === 0 ? [] : [name]))

async function soaked(...args: string[]): Promise<Awaited<ReturnType<typeof soak>>> {
  const options = readSoakOptions(['--seed', '7', '--workers', '2', '--lease-ms', '1000', ...args])
  const run = await soak(options, { signal: new AbortController().signal, log: () => undefined })
  console.log(reportOf({ ...run, command: `soak ${args.join(' ')}`, without: options.without }))
  return run
}

test('workers killed, frozen and stopped for some seconds lose and double nothing', { timeout: 120_000 }, async () => {
  const run = await soaked('--minutes', '0.15', '--faults', 'kill -9;SIGSTOP, long;SIGTERM;answer cut')

  expect(red(run)).toEqual([])
  expect(run.findings.completed).toBe(run.findings.accepted)
  expect(run.findings.accepted).toBeGreaterThan(10)
  expect(run.injected.length).toBeGreaterThan(2)
})

test('control: without the memory of stored steps it is red', { timeout: 120_000 }, async () => {
  const run = await soaked('--minutes', '0.1', '--faults', 'kill -9', '--without', 'memory')

  expect(red(run)).toEqual(['steps run again'])
  expect(run.notMet).toEqual([])
})

test('what is asked for wrongly is refused with the names that there are', () => {
  expect(() => readSoakOptions(['--without', 'luck'])).toThrow(/--without "luck" is not one of: fence, result, sweep/)
  expect(() => readSoakOptions(['--minutes', 'five'])).toThrow(/--minutes is "five"; give a number/)
})
