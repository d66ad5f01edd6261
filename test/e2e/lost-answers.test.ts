import type { CommittedEntry, ReceivedEntry } from '@foothold/simulators'
import type { TaskId } from 'foothold'
import { describe, expect, test } from 'vitest'
import { oneAfterTheOther } from './one-after-the-other.ts'
import { figures, ONCE, trafficOf } from './traffic.ts'
import { openWorld, transitionsOf, until, type World } from './world.ts'

/** The moment between the CRM's commit and our storing: nobody here knows that the ticket exists. At defaults. */

const DONE_MS = 40_000
const TASKS = 50
const UNANSWERED = 25
const WORKERS = 3

describe.concurrent.each([
  ['a CRM behind a gateway that honours keys', true],
  ['a CRM without keys', false],
] as const)('%s', (crm, crmKeys) => {
  test('commits and drops its answer: one ticket', { timeout: 120_000 }, async ({ onTestFinished }) => {
    const world = await openWorld({ crmKeys })
    onTestFinished(() => world.close())
    await world.simulators.crm.control.fault({
      match: { path: 'crm.item.add' },
      fault: { kind: 'drop_after_commit' },
    })
    await oneAfterTheOther(() => world.start('worker'))

    const handle = await world.foothold.submit('support', { client: { id: '101' }, text: 'Где мой заказ 5501?' })
    await handle.result({ timeoutMs: DONE_MS })

    const traffic = await trafficOf(world, { taskId: handle.id, orderId: '5501' })
    console.log(`${crm} dropped an answer: ${figures(traffic)}`)
    expect(traffic).toEqual(crmKeys ? { ...ONCE, ticketRequests: 2 } : { ...ONCE, ticketLookups: 1 })
    const ends = (await world.foothold.task(handle.id))?.attempts.map(({ outcome, reason }) => [outcome, reason])
    expect(ends).toContainEqual(['waiting', 'crm_unavailable'])
    expect(ends?.at(-1)).toEqual(['completed', 'completed'])
  })

  test('fifty tasks whose worker is killed between commit and storing: fifty tickets, one each, by id', {
    timeout: 180_000,
  }, async ({ onTestFinished }) => {
    const { world, ids, killedAt } = await oneAfterTheOther(async () => {
      const opened = await openWorld({ crmKeys })
      onTestFinished(() => opened.close())
      return killBetweenCommitAndStoring(opened)
    })

    const tickets = await Promise.all(
      ids.map(async (id) => (await world.foothold.handle(id).result({ timeoutMs: DONE_MS })) as { ticketId: string }),
    )

    const { received, committed } = await world.simulators.crm.control.ledger()
    const made = committed.filter(({ kind }) => kind === 'crm.item')
    const lookups = asked(received, 'crm.item.list')
    console.log(
      `${crm}, ${TASKS} tasks on ${WORKERS} workers killed between commit and storing: ${made.length} tickets, ${asked(received, 'crm.item.add').length} requests to make one, ${lookups.length} look-ups; all done ${Date.now() - killedAt} ms after the kill`,
    )
    await expectOneTicketEach(
      world,
      ids,
      tickets.map(({ ticketId }) => ticketId),
      made,
    )
    for (const id of ids) {
      const transitions = (await transitionsOf(world, id)).map(({ to, lastReason }) => [to, lastReason])
      // Found sooner than the CRM's call may last: the task waits that out before the look-up, without a slot.
      const waits = transitions.filter(([, reason]) => reason === 'effect_unknown')
      expect([[], ...(crmKeys ? [] : [['waiting', 'pending', 'processing']])]).toContainEqual(waits.map(([to]) => to))
      expect(transitions.filter(([, reason]) => reason !== 'effect_unknown')).toEqual([
        ['processing', null],
        ['pending', 'orphaned'],
        ['processing', 'orphaned'],
        ['completed', null],
      ])
    }
    expect(asked(received, 'crm.item.add')).toHaveLength(crmKeys ? 2 * TASKS : TASKS)
    expect(lookups).toHaveLength(crmKeys ? 0 : TASKS)
    expect(await world.query('select count(*)::int as n from support.replies')).toEqual([{ n: TASKS }])
  })
})

interface KilledWorld {
  readonly world: World
  readonly ids: readonly TaskId[]
  readonly killedAt: number
}

/** Half of the tasks stand before the CRM's answer, the other half after it. */
async function killBetweenCommitAndStoring(world: World): Promise<KilledWorld> {
  const { gigachat, crm } = world.simulators
  const holdAt = { point: 'effect.answered', key: 'tool_call:ticket' } as const
  const victims = await Promise.all(Array.from({ length: WORKERS }, () => world.start('worker', { holdAt })))
  const successors = await Promise.all([world.load('worker'), world.load('worker')])
  // A call to the CRM may take 10 s: all come to it together.
  await gigachat.control.gate({ name: 'plan', match: { path: 'chat/completions' }, point: 'before' })
  await crm.control.gate({
    name: 'committed',
    match: { path: 'crm.item.add' },
    point: 'after_commit',
    times: UNANSWERED,
  })
  const ids: TaskId[] = []
  for (let n = 1; n <= TASKS; n += 1) {
    const input = { client: { id: `клиент-${n}` }, text: 'Где мой заказ 5501?' }
    ids.push((await world.foothold.submit('support', input)).id)
  }
  await gigachat.control.waitForGate('plan', { count: TASKS, timeoutMs: 60_000 })
  await gigachat.control.openGate('plan')
  await until('every ticket is made, half of them without an answer', async () => {
    const adds = asked((await crm.control.ledger()).received, 'crm.item.add')
    const isAnswered = adds.filter(({ answer }) => answer.state === 'answered').length
    return (await crm.control.gateState('committed')).waiting === UNANSWERED && isAnswered === TASKS - UNANSWERED
  })

  const killedAt = Date.now()
  for (const victim of victims) victim.kill('SIGKILL')
  await crm.control.waitForGate('committed', { count: UNANSWERED, abandoned: UNANSWERED })
  await crm.control.openGate('committed')
  await Promise.all(successors.map((successor) => successor.go()))
  return { world, ids, killedAt }
}

async function expectOneTicketEach(
  world: World,
  ids: readonly TaskId[],
  ticketIds: readonly string[],
  made: readonly CommittedEntry[],
): Promise<void> {
  const keys = await world.query<{ taskId: string; key: string }>(
    `select task_id as "taskId", idempotency_key as key from foothold.agent_steps where key = 'tool_call:ticket'`,
  )
  expect(made).toHaveLength(ids.length)
  expect(new Set(made.map(({ key }) => key))).toEqual(new Set(keys.map(({ key }) => key)))
  const idByKey = new Map(made.map(({ key, value }) => [key, String((value as { id: unknown }).id)]))
  for (const [index, id] of ids.entries()) {
    expect(ticketIds[index]).toBe(idByKey.get(keys.find(({ taskId }) => taskId === id)?.key ?? null))
  }
}

function asked(received: readonly ReceivedEntry[], method: string): ReceivedEntry[] {
  return received.filter(({ path }) => path.includes(method))
}
