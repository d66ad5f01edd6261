import { describe, expect, test } from 'vitest'
import { type Asked, allHeld, askFive, HOLD_VERIFY, openAbandonedGates, STEPS, type Step } from './five-steps.ts'
import type { Program } from './program.ts'
import { ONCE, type Traffic, trafficOf } from './traffic.ts'
import { openWorld, transitionsOf, type World } from './world.ts'

/** Everything at its defaults: heartbeat 5 s, lease 20 s. The five steps are interrupted side by side. */

const LEASE_MS = 20_000
const BOUND_MS = LEASE_MS + 2_000
const DONE_MS = 30_000

/** What the killed step may cost in all; everything else happens once. */
const COST: { readonly [S in Step]: Partial<Traffic> } = {
  retrieve: { embeddings: 2 },
  plan: { plans: 2 },
  tool_call: { ticketLookups: 1 },
  generate: { drafts: 2 },
  verify: {},
}

/** The steps that had ended before the kill. */
const FINISHED: { readonly [S in Step]: readonly string[] } = {
  retrieve: [],
  plan: ['retrieve'],
  tool_call: ['retrieve', 'plan', 'tool_call:order'],
  generate: ['retrieve', 'plan', 'tool_call:order', 'tool_call:ticket'],
  verify: ['retrieve', 'plan', 'tool_call:order', 'tool_call:ticket', 'generate'],
}

interface Killed {
  readonly world: World
  readonly asked: readonly Asked[]
  readonly atMs: number
  readonly victims: readonly Program[]
}

async function expectRecovery({ world, asked, atMs, victims }: Killed, what: string): Promise<void> {
  const pids = victims.map(({ pid }) => `:${pid}:`)
  for (const one of asked) {
    const { step, taskId, orderId } = one
    await world.foothold.handle(taskId).result({ timeoutMs: DONE_MS })
    const transitions = await transitionsOf(world, taskId)
    const [first, , second] = transitions
    const recoveryMs = (second?.at.getTime() ?? Number.NaN) - atMs
    const traffic = await trafficOf(world, one)
    console.log(`${what}, in ${step}: claimed again ${recoveryMs} ms after the kill; ${figures(traffic)}`)

    expect(transitions.map(({ to, attempt, lastReason }) => [to, attempt, lastReason])).toEqual([
      ['processing', 1, null],
      ['pending', 1, 'orphaned'],
      ['processing', 2, 'orphaned'],
      ['completed', 2, null],
    ])
    expect(pids.some((pid) => first?.worker?.includes(pid))).toBe(true)
    expect(pids.some((pid) => second?.worker?.includes(pid))).toBe(false)
    expect(recoveryMs).toBeGreaterThan(0)
    expect(recoveryMs).toBeLessThanOrEqual(BOUND_MS)
    expect(traffic).toEqual({ ...ONCE, ...COST[step] })
    const steps = await world.query<{ key: string; attempt: number }>(
      'select key, attempt from foothold.agent_steps where task_id = $1',
      [taskId],
    )
    const ofFirst = steps
      .filter(({ attempt }) => attempt === 1)
      .map(({ key }) => key.replace(`order-${orderId}`, 'order'))
    expect(ofFirst.toSorted()).toEqual(FINISHED[step].toSorted())
  }
}

function figures(traffic: Traffic): string {
  return Object.entries(traffic)
    .map(([what, count]) => `${what} ${count}`)
    .join(', ')
}

/** One world is set up and killed after the other, so that held requests meet no time limit; they recover side by side. */
let arranged: Promise<unknown> = Promise.resolve()

function oneAfterTheOther<T>(arrange: () => Promise<T>): Promise<T> {
  const result = arranged.then(arrange)
  arranged = result.catch(() => undefined)
  return result
}

describe.concurrent('kill -9 in each of the five steps, at defaults', () => {
  test('another worker goes on from the unfinished step within the lease and 2 s; what was finished is not done again', {
    timeout: 180_000,
  }, async ({ onTestFinished }) => {
    const killed = await oneAfterTheOther(async (): Promise<Killed> => {
      const world = await openWorld()
      onTestFinished(() => world.close())
      const one = { ...HOLD_VERIFY, environment: { CONCURRENCY: '1' } }
      const neighbour = await world.load('worker')
      const victims = await Promise.all(STEPS.map(() => world.start('worker', one)))
      const asked = await askFive(world)
      await allHeld(world, asked, Promise.race(victims.map(({ held }) => held)))
      await neighbour.go()

      const atMs = Date.now()
      for (const victim of victims) victim.kill('SIGKILL')
      await openAbandonedGates(world)
      return { world, asked, atMs, victims }
    })

    await expectRecovery(killed, 'five workers killed')
  })

  test('the same with the only worker, killed and replaced by a new process', {
    timeout: 180_000,
  }, async ({ onTestFinished }) => {
    const killed = await oneAfterTheOther(async (): Promise<Killed> => {
      const world = await openWorld()
      onTestFinished(() => world.close())
      const victim = await world.start('worker', HOLD_VERIFY)
      const asked = await askFive(world)
      await allHeld(world, asked, victim.held)

      const atMs = Date.now()
      victim.kill('SIGKILL')
      await victim.exited
      await world.start('worker')
      await openAbandonedGates(world)
      return { world, asked, atMs, victims: [victim] }
    })

    await expectRecovery(killed, 'the only worker killed and replaced')
  })
})
