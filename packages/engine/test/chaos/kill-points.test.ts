import { describe, expect, test } from 'vitest'
import type { KillPoint } from '../../src/testing/index.ts'
import { setup } from '../integration/world.ts'
import { LEDGER, ledgerAgent } from './ledger-agent.ts'
import { startWorkerProcess } from './processes.ts'

/** Heartbeat 200 ms, lease 1 s: the guarantees are the defaults' own, only sooner. */

interface Case {
  readonly at: KillPoint
  readonly receiver: 'keys' | 'find'
  /** How often each thing happened in all, the second worker's part included. */
  readonly ledger: Record<string, number>
}

const once = { retrieve: 1, plan: 1, request: 1, deal: 1, generate: 1 }

const CASES: readonly Case[] = [
  { at: { point: 'claim.answered' }, receiver: 'keys', ledger: once },
  { at: { point: 'step.started', key: 'retrieve' }, receiver: 'keys', ledger: once },
  { at: { point: 'step.ran', key: 'retrieve' }, receiver: 'keys', ledger: { ...once, retrieve: 2 } },
  { at: { point: 'step.stored', key: 'retrieve' }, receiver: 'keys', ledger: once },
  { at: { point: 'step.ran', key: 'plan' }, receiver: 'find', ledger: { ...once, plan: 2 } },
  { at: { point: 'intent.stored' }, receiver: 'keys', ledger: once },
  { at: { point: 'intent.stored' }, receiver: 'find', ledger: once },
  { at: { point: 'effect.answered' }, receiver: 'keys', ledger: { ...once, request: 2 } },
  { at: { point: 'effect.answered' }, receiver: 'find', ledger: once },
  { at: { point: 'effect.stored' }, receiver: 'find', ledger: once },
  { at: { point: 'step.ran', key: 'generate' }, receiver: 'keys', ledger: { ...once, generate: 2 } },
  { at: { point: 'transaction.ran' }, receiver: 'keys', ledger: once },
  { at: { point: 'transaction.committed' }, receiver: 'keys', ledger: once },
  { at: { point: 'complete.before' }, receiver: 'keys', ledger: once },
  { at: { point: 'complete.after' }, receiver: 'keys', ledger: once },
]

describe('kill -9: another worker goes on from the unfinished step, and the outside world sees each effect once', () => {
  test.for(CASES)('at $at.point $at.key, receiver with $receiver', async ({ at, receiver, ledger }) => {
    const { url, foothold, query, worker } = await setup()
    await query(LEDGER)
    const victim = startWorkerProcess({ url, receiver, killAt: [at] })
    await victim.tells((told) => told['message'] === 'worker started')
    const handle = await foothold.submit(ledgerAgent(url, { receiver }), null)
    expect((await victim.exited).signal).toBe('SIGKILL')

    await worker([ledgerAgent(url, { receiver })], { heartbeatMs: 200, leaseMs: 1_000 })

    expect(await handle.result({ timeoutMs: 20_000 })).toMatch(/^история клиента: \d+$/)
    const counts = await query<{ what: string; n: number }>('select what, count(*)::int as n from ledger group by what')
    expect(Object.fromEntries(counts.map(({ what, n }) => [what, n]))).toEqual(ledger)
    expect(await query('select count(*)::int as n from replies')).toEqual([{ n: 1 }])
    // A receiver slower than its time-out of 500 ms is asked again, after a wait: no effect more, one attempt more.
    const ends = await query<{ outcome: string }>(
      `select outcome from foothold.attempts where outcome <> 'waiting' order by attempt`,
    )
    expect(ends.map(({ outcome }) => outcome)).toEqual(
      at.point === 'complete.after' ? ['completed'] : ['orphaned', 'completed'],
    )
  })
})
