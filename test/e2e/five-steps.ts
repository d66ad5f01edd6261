import type { RequestMatch, SimulatorControl } from '@foothold/simulators'
import type { TaskId } from 'foothold'
import type { HeldProgramSettings } from './held-program.ts'
import { until, type World } from './world.ts'

/** Requests of several clients, each to be held in another step. */
export type Step = 'retrieve' | 'plan' | 'tool_call' | 'generate' | 'verify'

export interface Request {
  readonly step: Step
  readonly clientId: string
  /** Another one in each request of a world: so traffic is told apart. */
  readonly orderId: string
  /** Of its gate. Default: the step's. */
  readonly gate?: string
}

export interface Asked extends Request {
  readonly taskId: TaskId
  readonly gate: string
}

/** Three clients whom the CRM knows, and two of other channels. */
export const FIVE: readonly Request[] = [
  { step: 'retrieve', clientId: '101', orderId: '5501' },
  { step: 'plan', clientId: '102', orderId: '5502' },
  { step: 'tool_call', clientId: '103', orderId: '5503' },
  { step: 'generate', clientId: 'клиент-4', orderId: '5505' },
  { step: 'verify', clientId: 'клиент-5', orderId: '5506' },
]

/** Inside `verify` no request is under way: it is held in the process, every worker that may come to it. */
export const HOLD_VERIFY: HeldProgramSettings = { holdAt: { point: 'step.ran', key: 'verify' } }

/** Submits all at once, each with a gate in its way. Workers must be running. */
export async function askHeld(world: World, requests: readonly Request[] = FIVE): Promise<Asked[]> {
  return world.inTransaction(async (sql) => {
    const asked: Asked[] = []
    for (const request of requests) {
      const { clientId, orderId } = request
      const input = { client: { id: clientId }, text: `Где мой заказ ${orderId}?` }
      const { id } = await world.foothold.submit('support', input, { transaction: sql })
      asked.push({ gate: request.step, ...request, taskId: id })
    }
    for (const one of asked) await closeGate(world, one)
    return asked
  })
}

async function closeGate(world: World, { step, gate, taskId, orderId }: Asked): Promise<void> {
  const control = controlOf(world, step)
  const close = (match: RequestMatch, point: 'before' | 'after_commit' | 'mid_stream'): Promise<void> =>
    control.gate({ name: gate, match, point, times: 1 })
  const header = { name: 'x-session-id', value: taskId }
  switch (step) {
    case 'retrieve':
      return close({ path: 'embeddings', contains: `заказ ${orderId}` }, 'before')
    case 'plan':
      return close({ path: 'chat/completions', contains: '<functions>', header }, 'before')
    case 'tool_call':
      return close({ path: 'crm.item.add', contains: `Заказ: ${orderId}` }, 'after_commit')
    case 'generate':
      return close({ path: 'chat/completions', contains: '<tool_results>', header }, 'mid_stream')
    case 'verify':
      return
  }
}

/** Resolves when every request stands in its step; `verify` is told by the process that holds it. */
export async function allHeld(world: World, asked: readonly Asked[], heldInVerify: Promise<string>): Promise<void> {
  await Promise.all(gated(asked).map(({ step, gate }) => controlOf(world, step).waitForGate(gate)))
  const taskId = await heldInVerify
  if (taskId !== asked.find(({ step }) => step === 'verify')?.taskId) throw new Error(`${taskId} came to verify`)
  // The order is read beside the ticket; once it is stored, the ticket alone is unfinished.
  const calling = asked.find(({ step }) => step === 'tool_call')
  await until('the order beside the held ticket is stored', async () => {
    const rows = await world.query(
      `select 1 from foothold.agent_steps where task_id = $1 and key like 'tool\\_call:order%' and status = 'completed'`,
      [calling?.taskId],
    )
    return rows.length > 0
  })
}

/** Resolves when the services have seen that their clients are gone. */
export async function allAbandoned(world: World, asked: readonly Asked[]): Promise<void> {
  await Promise.all(gated(asked).map(({ step, gate }) => controlOf(world, step).waitForGate(gate, { abandoned: 1 })))
}

export async function openGates(world: World, asked: readonly Asked[]): Promise<void> {
  await Promise.all(gated(asked).map(({ step, gate }) => controlOf(world, step).openGate(gate)))
}

function gated(asked: readonly Asked[]): readonly Asked[] {
  return asked.filter(({ step }) => step !== 'verify')
}

function controlOf({ simulators: { gigachat, crm } }: World, step: Step): SimulatorControl {
  return step === 'tool_call' ? crm.control : gigachat.control
}
