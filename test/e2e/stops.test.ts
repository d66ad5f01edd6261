import { expect, test } from 'vitest'
import {
  type Asked,
  allAbandoned,
  allHeld,
  askHeld,
  FIVE,
  HOLD_VERIFY,
  openGates,
  type Request,
  type Step,
} from './five-steps.ts'
import { figures, ONCE, trafficOf } from './traffic.ts'
import { openWorld, stepsOfAttempt, transitionsOf, type World } from './world.ts'

/** SIGTERM at defaults: a grace of 6.5 s, for a platform that sends SIGKILL after 8 s. */

const STOP_MS = 8_000
const GRACE_MS = 6_500
const HANDOVER_MS = 1_000
const DONE_MS = 30_000

/** A stream that does not end while its worker leaves. */
const ENDLESS: Request = { step: 'generate', clientId: 'клиент-6', orderId: '5507', gate: 'endless' }

/** Everything up to the held step, and that step too: it ended inside the grace. */
const ENDED: { readonly [S in Step]: readonly string[] } = {
  retrieve: ['retrieve'],
  plan: ['retrieve', 'plan'],
  tool_call: ['retrieve', 'plan', 'tool_call:order', 'tool_call:ticket'],
  generate: ['retrieve', 'plan', 'tool_call:order', 'tool_call:ticket', 'generate'],
  verify: ['retrieve', 'plan', 'tool_call:order', 'tool_call:ticket', 'generate', 'verify'],
}

const KEY: { readonly [S in Step]: string } = {
  retrieve: 'retrieve',
  plan: 'plan',
  tool_call: 'tool_call:ticket',
  generate: 'generate',
  verify: 'verify',
}

test('SIGTERM in each of the five steps: the step ends, nothing is claimed any more, exit 0 inside 8 s, and a neighbour has the task within 1 s, at no cost to its budgets', {
  timeout: 120_000,
}, async ({ onTestFinished }) => {
  const world = await openWorld()
  onTestFinished(() => world.close())
  const one = { ...HOLD_VERIFY, environment: { CONCURRENCY: '1' } }
  const requests = [...FIVE, ENDLESS]
  const neighbour = await world.load('worker')
  const idle = await world.load('worker')
  const busy = await Promise.all(requests.map(() => world.start('worker', one)))
  const asked = await askHeld(world, requests)
  await allHeld(world, asked, Promise.race(busy.map(({ held }) => held)))
  const leaving = [...busy, await idle.go()]

  const signalledAt = Date.now()
  for (const worker of leaving) worker.kill('SIGTERM')
  await Promise.all(leaving.map((worker) => worker.says('drain started')))
  const later = await world.foothold.submit('support', { client: { id: 'клиент-7' }, text: 'Здравствуйте!' })
  const { ready } = await neighbour.go()
  const endless = asked.filter(({ gate }) => gate === ENDLESS.gate)
  await openGates(
    world,
    asked.filter((task) => !endless.includes(task)),
  )
  for (const worker of busy) worker.release()
  const exits = await Promise.all(leaving.map(({ exited }) => exited))
  await allAbandoned(world, endless)
  await openGates(world, endless)

  const exitedMs = exits.map(({ atMs }) => atMs - signalledAt)
  console.log(`SIGTERM: exits after ${exitedMs.join(', ')} ms`)
  expect(exits.map(({ code, signal }) => ({ code, signal }))).toEqual(exits.map(() => ({ code: 0, signal: null })))
  expect(Math.max(...exitedMs)).toBeLessThan(STOP_MS)
  for (const task of asked) {
    await world.foothold.handle(task.taskId).result({ timeoutMs: DONE_MS })
    await expectHandover(world, task, { to: String(ready['worker']), signalledAt, isEndless: endless.includes(task) })
  }
  await world.foothold.handle(later.id).result({ timeoutMs: DONE_MS })
  expect(
    await world.query(`select * from public.transitions where "to" = 'processing' and at > $1 and worker = any($2)`, [
      new Date(signalledAt),
      leaving.map((worker) => worker.ready['worker']),
    ]),
  ).toEqual([])
})

async function expectHandover(
  world: World,
  task: Asked,
  { to, signalledAt, isEndless }: { readonly to: string; readonly signalledAt: number; readonly isEndless: boolean },
): Promise<void> {
  const { step, gate, taskId } = task
  const transitions = await transitionsOf(world, taskId)
  const [, handedOver, claimed] = transitions.map(({ at }) => at.getTime())
  const [{ endedAt } = { endedAt: undefined }] = await world.query<{ endedAt: Date }>(
    'select finished_at as "endedAt" from foothold.agent_steps where task_id = $1 and key = $2',
    [taskId, KEY[step]],
  )
  // The endless step ends with the grace: nothing of it is stored.
  const stepEndedAt = isEndless ? (handedOver ?? Number.NaN) : (endedAt?.getTime() ?? Number.NaN)
  const claimMs = (claimed ?? Number.NaN) - stepEndedAt
  const traffic = await trafficOf(world, task)
  console.log(
    `SIGTERM, ${gate}: handed over ${(handedOver ?? 0) - signalledAt} ms after the signal, claimed ${claimMs} ms after the step's end; ${figures(traffic)}`,
  )

  expect(transitions.map((t) => [t.to, t.attempt, t.lastReason, t.retryCount, t.crashCount, t.crashesTotal])).toEqual([
    ['processing', 1, null, 0, 0, 0],
    ['pending', 1, 'graceful_shutdown', 0, 0, 0],
    ['processing', 2, 'graceful_shutdown', 0, 0, 0],
    ['completed', 2, null, 0, 0, 0],
  ])
  expect(transitions[2]?.worker).toBe(to)
  expect(claimMs).toBeGreaterThanOrEqual(0)
  expect(claimMs).toBeLessThan(HANDOVER_MS)
  expect(traffic).toEqual(isEndless ? { ...ONCE, drafts: 2 } : ONCE)
  const before = isEndless ? ENDED.tool_call : ENDED[step]
  expect(await stepsOfAttempt(world, task, 1)).toEqual(before.toSorted())
  if (!isEndless) return
  expect((handedOver ?? 0) - signalledAt).toBeGreaterThan(GRACE_MS - 1_000)
  const { received } = await world.simulators.gigachat.control.ledger()
  const drafts = received.filter(
    ({ sessionId, body }) => sessionId === taskId && JSON.stringify(body).includes('<tool_results>'),
  )
  expect(drafts.map(({ answer }) => answer.state)).toEqual(['aborted', 'answered'])
}
