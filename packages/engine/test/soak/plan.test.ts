import { expect, test } from 'vitest'
import { FAULT_KINDS, isOfTheServer, planFaults } from './plan.ts'

const options = { seed: 7, durationMs: 20 * 60_000, slots: 4, leaseMs: 2_000 }

test('the same seed gives the same faults, another one others', () => {
  expect(planFaults(options)).toEqual(planFaults(options))
  expect(planFaults({ ...options, seed: 8 })).not.toEqual(planFaults(options))
})

test('a longer run begins as a shorter one', () => {
  const short = planFaults({ ...options, durationMs: 60_000 })

  expect(short.length).toBeGreaterThan(20)
  expect(planFaults(options).slice(0, short.length)).toEqual(short)
})

test('in twenty minutes every kind comes, and what stops everybody leaves time in between', () => {
  const faults = planFaults(options)
  const ofServer = faults.filter(({ kind }) => isOfTheServer(kind)).map(({ atMs }) => atMs)

  expect(new Set(faults.map(({ kind }) => kind))).toEqual(new Set(FAULT_KINDS))
  for (const [n, atMs] of ofServer.slice(1).entries())
    expect(atMs - (ofServer[n] as number)).toBeGreaterThanOrEqual(6_000)
  expect(new Set(faults.map(({ slot }) => slot))).toEqual(new Set([0, 1, 2, 3]))
})
