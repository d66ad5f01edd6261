import { describe, expect, test } from 'vitest'
import type { KillPoint } from '../../src/testing/index.ts'
import { setup, until } from '../integration/world.ts'
import { FAMILY_LEDGER, familyAgents } from './family-agents.ts'
import { startWorkerProcess } from './processes.ts'

/** Heartbeat 200 ms, lease 1 s: the guarantees are the defaults' own, only sooner. */

const POINTS: readonly KillPoint[] = [
  { point: 'claim.answered' },
  { point: 'child.started', key: 'part:0' },
  { point: 'child.started', key: 'part:1' },
  { point: 'park.before' },
  // Of a child: its end is stored, and nobody has told the parent.
  { point: 'complete.after' },
]

async function family(children: number, atOnce: number, kills: readonly KillPoint[]) {
  const world = await setup()
  await world.query(FAMILY_LEDGER)
  const [, parent] = familyAgents(world.url)
  for (const [index, at] of kills.entries()) {
    const victim = startWorkerProcess({ url: world.url, receiver: 'keys', killAt: [at] })
    await victim.tells(({ message }) => message === 'worker started')
    if (index === 0) await world.foothold.submit(parent, { children, atOnce })
    expect((await victim.exited).signal).toBe('SIGKILL')
  }
  await world.worker(familyAgents(world.url), { heartbeatMs: 200, leaseMs: 1_000 })
  const [row] = await world.query<{ id: string }>(`select id from foothold.tasks where agent = 'family'`)
  const sum = await world.foothold.handle(row?.id as never, parent).result({ timeoutMs: 150_000 })
  const [told] = await world.query<{ children: number; done: number; parts: number; most: number; crashes: number }>(
    `select (select count(*)::int from foothold.tasks where parent_key is not null) as children, count(*)::int as done,
       count(distinct part)::int as parts, max(in_flight) as most,
       (select sum(crashes_total)::int from foothold.tasks) as crashes from done`,
  )
  await until('every end is told', async () => (await world.query('select 1 from foothold.children')).length === 0)
  return { sum, ...told }
}

describe('kill -9 of the worker of a parent and its children: each child is there once, and ran to its end once', () => {
  test.for(POINTS)('at $point $key', async (at) => {
    expect(await family(3, 2, [at])).toMatchObject({ sum: 6, children: 3, done: 3, parts: 3 })
  })
})

/** FOOTHOLD_TEST_CHILDREN=1000 for as many: a minute and more. */
test('of many children never more than ten are under way, killed three times in the middle, each exactly once', {
  timeout: 180_000,
}, async () => {
  const count = Number(process.env['FOOTHOLD_TEST_CHILDREN'] ?? 100)
  const startedMs = performance.now()
  const { most, crashes, ...told } = await family(
    count,
    10,
    [0.2, 0.1, 0.05].map((part) => ({ point: 'child.started', after: Math.floor(part * count) })),
  )

  expect(told).toEqual({ sum: count * (count - 1), children: count, done: count, parts: count })
  expect(most).toBeLessThanOrEqual(10)
  expect(crashes).toBeGreaterThanOrEqual(3)
  console.info(
    `${count} children: ${Math.round(performance.now() - startedMs)} ms, at most ${most} at once, ${crashes} crashes`,
  )
})
