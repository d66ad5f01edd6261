import { expect, test } from 'vitest'
import type { Clock } from '../lifecycle/clock.ts'
import { createLease, type Lease } from './lease.ts'

const LEASE_MS = 20_000
const LIFELINE_MS = 5_000

interface Life {
  readonly lease: Lease
  /** Both clocks. */
  readonly pass: (ms: number) => void
  /** The wall clock alone: the machine was suspended. */
  readonly sleepThrough: (ms: number) => void
  readonly asked: () => number
  readonly heartbeat: () => void
  readonly ping: () => void
}

function life(): Life {
  let [monotonic, wall, asked] = [0, 1_800_000_000_000, 0]
  const clock: Clock = { monotonicMs: () => monotonic, wallMs: () => wall }
  const sent = () => ({ monotonicMs: monotonic, wallMs: wall })
  const lease = createLease({ clock, leaseMs: LEASE_MS, lifelineMs: LIFELINE_MS, renew: () => (asked += 1) })
  return {
    lease,
    pass(ms) {
      monotonic += ms
      wall += ms
    },
    sleepThrough: (ms) => (wall += ms),
    asked: () => asked,
    heartbeat: () => lease.renewed(sent()),
    ping: () => lease.lifelineAnswered(sent()),
  }
}

test('without a lifeline a heartbeat is good for its lease, less an eighth', () => {
  const { lease, pass, heartbeat } = life()
  heartbeat()
  pass(17_400)
  expect(lease.isGood()).toBe(true)
  pass(200)
  expect(lease.isGood()).toBe(false)
})

test.for(['pass', 'sleepThrough'] as const)(
  'with one, five seconds of silence of its session end it, on either clock (%s)',
  (how) => {
    const at = life()
    at.heartbeat()
    at.ping()
    at[how](4_300)
    expect(at.lease.isGood()).toBe(true)
    at[how](200)
    expect(at.lease.isGood()).toBe(false)

    at.heartbeat()
    expect(at.lease.isGood()).toBe(false)
    at.ping()
    expect(at.lease.isGood()).toBe(true)
  },
)

test('a lifeline that broke makes the lease doubtful until the next heartbeat is accepted', async () => {
  const { lease, heartbeat, ping, asked } = life()
  heartbeat()
  ping()
  lease.lifelineBroke()
  expect(lease.isGood()).toBe(false)

  const good = lease.ensureGood(new AbortController().signal)
  expect(asked()).toBe(1)
  heartbeat()
  await good
  expect(lease.isGood()).toBe(true)
})

test('whoever waits for a good lease hears why it will not come', async () => {
  const { lease } = life()
  const stopping = new AbortController()
  const good = lease.ensureGood(stopping.signal)
  stopping.abort(new Error('отобрано'))

  await expect(good).rejects.toThrow('отобрано')
})
