import type { RequestMatch, SimulatorControl } from '@foothold/simulators'
import type { TaskId } from 'foothold'
import type { HeldProgramSettings } from './held-program.ts'
import { until, type World } from './world.ts'

/** Five requests of five clients, each to be held in another step of its own. */
export const STEPS = ['retrieve', 'plan', 'tool_call', 'generate', 'verify'] as const
export type Step = (typeof STEPS)[number]

export interface Asked {
  readonly step: Step
  readonly taskId: TaskId
  readonly orderId: string
  readonly clientId: string
}

/** Three whom the CRM knows, and two of other channels. Each asks about an order of its own: so traffic is told apart. */
const CLIENTS: { readonly [S in Step]: readonly [clientId: string, orderId: string] } = {
  retrieve: ['101', '5501'],
  plan: ['102', '5502'],
  tool_call: ['103', '5503'],
  generate: ['клиент-4', '5505'],
  verify: ['клиент-5', '5506'],
}

/** Inside `verify` no request is under way: it is held in the process, every worker that may come to it. */
export const HOLD_VERIFY: HeldProgramSettings = { holdAt: { point: 'step.ran', key: 'verify' } }

/** Submits all five at once, each with a gate in its way. Workers must be running. */
export async function askFive(world: World): Promise<Asked[]> {
  return world.inTransaction(async (sql) => {
    const asked: Asked[] = []
    for (const step of STEPS) {
      const [clientId, orderId] = CLIENTS[step]
      const input = { client: { id: clientId }, text: `Где мой заказ ${orderId}?` }
      const { id } = await world.foothold.submit('support', input, { transaction: sql })
      asked.push({ step, taskId: id, orderId, clientId })
    }
    for (const one of asked) await gateFor(world, one)
    return asked
  })
}

async function gateFor({ simulators: { gigachat, crm } }: World, { step, taskId, orderId }: Asked): Promise<void> {
  const gate = (control: SimulatorControl, match: RequestMatch, point: 'before' | 'after_commit' | 'mid_stream') =>
    control.gate({ name: step, match, point, times: 1 })
  const header = { name: 'x-session-id', value: taskId }
  switch (step) {
    case 'retrieve':
      return gate(gigachat.control, { path: 'embeddings', contains: `заказ ${orderId}` }, 'before')
    case 'plan':
      return gate(gigachat.control, { path: 'chat/completions', contains: '<functions>', header }, 'before')
    case 'tool_call':
      return gate(crm.control, { path: 'crm.item.add', contains: `Заказ: ${orderId}` }, 'after_commit')
    case 'generate':
      return gate(gigachat.control, { path: 'chat/completions', contains: '<tool_results>', header }, 'mid_stream')
    case 'verify':
      return
  }
}

const GATED = ['retrieve', 'plan', 'tool_call', 'generate'] as const

/** Resolves when every request stands in its step; `verify` is told by the process that holds it. */
export async function allHeld(world: World, asked: readonly Asked[], heldInVerify: Promise<string>): Promise<void> {
  await Promise.all(GATED.map((step) => controlOf(world, step).waitForGate(step)))
  const taskId = await heldInVerify
  if (taskId !== asked.find(({ step }) => step === 'verify')?.taskId) throw new Error(`${taskId} came to verify`)
  // The order is read beside the ticket; once it is stored, the ticket alone is unfinished.
  const { taskId: calling } = asked.find(({ step }) => step === 'tool_call') as Asked
  await until('the order beside the held ticket is stored', async () => {
    const rows = await world.query(
      `select 1 from foothold.agent_steps where task_id = $1 and key like 'tool\\_call:order%' and status = 'completed'`,
      [calling],
    )
    return rows.length > 0
  })
}

/** After a kill: when the services have seen that their clients are gone. */
export async function openAbandonedGates(world: World): Promise<void> {
  await Promise.all(GATED.map((step) => controlOf(world, step).waitForGate(step, { abandoned: 1 })))
  await openGates(world)
}

export async function openGates(world: World, steps: readonly Step[] = GATED): Promise<void> {
  await Promise.all(steps.filter((step) => step !== 'verify').map((step) => controlOf(world, step).openGate(step)))
}

function controlOf({ simulators: { gigachat, crm } }: World, step: Step): SimulatorControl {
  return step === 'tool_call' ? crm.control : gigachat.control
}
