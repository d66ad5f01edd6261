import { randomUUID } from 'node:crypto'
import type { Fault, RequestMatch } from '@foothold/simulators'
import type { TaskId } from 'foothold'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ONCE, trafficOf } from './traffic.ts'
import { openWorld, type World } from './world.ts'

/** What GigaChat does to a task, one thing at a time: it completes, and its history says what happened. */

let world: World

beforeAll(async () => {
  world = await openWorld()
  await world.start('worker')
}, 120_000)
afterAll(() => world?.close())

const DONE_MS = 25_000

interface Case {
  readonly when: string
  readonly step: 'plan' | 'generate'
  readonly times?: number
  readonly fault: Fault
  readonly reason: string
}

const answer = (status: number, headers: Record<string, string> = {}, body?: unknown): Fault =>
  ({ kind: 'answer', status, headers, body: body ?? { status, message: 'Нет' } }) as Fault

const CASES: readonly Case[] = [
  {
    when: 'answers 502',
    step: 'plan',
    fault: answer(502, {}, '<html>502 Bad Gateway</html>'),
    reason: 'llm_unavailable',
  },
  {
    when: 'answers 429 with Retry-After',
    step: 'generate',
    fault: answer(429, { 'retry-after': '2' }),
    reason: 'llm_rate_limited',
  },
  { when: 'answers 401 to a fresh token too', step: 'plan', times: 2, fault: answer(401), reason: 'llm_unauthorized' },
  { when: 'resets the connection', step: 'plan', fault: { kind: 'reset' }, reason: 'llm_unavailable' },
  { when: 'cuts the stream', step: 'generate', fault: { kind: 'cut', afterEvents: 2 }, reason: 'llm_unavailable' },
  {
    when: 'ends the stream without a marker',
    step: 'generate',
    fault: { kind: 'no_end_marker' },
    reason: 'llm_incomplete',
  },
  {
    when: 'reaches the limit of tokens',
    step: 'generate',
    fault: { kind: 'finish_reason', value: 'length' },
    reason: 'llm_incomplete',
  },
  { when: 'answers with nothing', step: 'generate', fault: { kind: 'content', text: '' }, reason: 'llm_incomplete' },
]

/** Faults and gates for one request among others know it by its session, so it must be known before a worker runs it. */
async function ask(prepare: (match: RequestMatch) => Promise<unknown>, orderId = '5501'): Promise<TaskId> {
  return world.inTransaction(async (sql) => {
    // A client of its own: what is remembered of one request stands in the prompts of the next.
    const input = { client: { id: randomUUID() }, text: `Где мой заказ ${orderId}?` }
    const { id } = await world.foothold.submit('support', input, { transaction: sql })
    await prepare({ path: 'chat/completions', header: { name: 'x-session-id', value: id } })
    return id
  })
}

async function attemptsOf(id: TaskId): Promise<(readonly [string, string | null])[]> {
  const attempts = (await world.foothold.task(id))?.attempts ?? []
  return attempts.map(({ outcome, reason }) => [outcome, reason])
}

const MARK = { plan: '<functions>', generate: '<tool_results>' } as const
/** What these tasks have in common is one order: its reads are counted elsewhere. */
const paid = ({ plans, drafts, tickets, replies, messages }: typeof ONCE): Partial<typeof ONCE> => ({
  plans,
  drafts,
  tickets,
  replies,
  messages,
})

describe.concurrent('a task completes when GigaChat', () => {
  test.for(CASES)('$when in $step, and the attempt says $reason', async ({ when, step, times = 1, fault, reason }) => {
    const { control } = world.simulators.gigachat
    const id = await ask((match) => control.fault({ match: { ...match, contains: MARK[step] }, times, fault }))

    await world.foothold.handle(id).result({ timeoutMs: DONE_MS })

    const traffic = await trafficOf(world, { taskId: id, orderId: '5501' })
    console.log(`GigaChat ${when} in ${step}: ${JSON.stringify(await attemptsOf(id))}`)
    expect(await attemptsOf(id)).toEqual([
      ['waiting', reason],
      ['completed', 'completed'],
    ])
    const again = step === 'plan' ? { plans: 1 + times } : { drafts: 1 + times }
    expect(paid(traffic)).toEqual(paid({ ...ONCE, ...again }))
  })

  test('answers 429 with Retry-After, which is waited out before the next try', async () => {
    const { control } = world.simulators.gigachat
    const id = await ask((match) =>
      control.fault({ match: { ...match, contains: MARK.generate }, fault: answer(429, { 'retry-after': '2' }) }),
    )

    await world.foothold.handle(id).result({ timeoutMs: DONE_MS })

    const { received } = await control.ledger()
    const [refused, taken] = received
      .filter(({ sessionId, body }) => sessionId === id && JSON.stringify(body).includes(MARK.generate))
      .map(({ at }) => Date.parse(at))
    expect((taken ?? 0) - (refused ?? 0)).toBeGreaterThanOrEqual(2_000)
  })

  test('lets its token die in mid-life: the token is renewed in silence, within the attempt', async () => {
    const { control } = world.simulators.gigachat
    const id = await ask((match) =>
      control.gate({ name: 'with-old-token', match: { ...match, contains: MARK.generate }, point: 'before', times: 1 }),
    )
    await control.waitForGate('with-old-token')
    await control.call('POST', 'tokens/expire')
    await control.openGate('with-old-token')

    await world.foothold.handle(id).result({ timeoutMs: DONE_MS })

    console.log(`GigaChat lets a token die: ${JSON.stringify(await attemptsOf(id))}`)
    expect(await attemptsOf(id)).toEqual([['completed', 'completed']])
    const { received } = await control.ledger()
    const statuses = received
      .filter(({ sessionId, body }) => sessionId === id && JSON.stringify(body).includes(MARK.generate))
      .map((entry) => entry.answer.status)
    expect(statuses).toEqual([401, 200])
  })
})

test('one task meets all of it: it completes, and every cause stands under its own reason, in order', async () => {
  const { control } = world.simulators.gigachat
  const fault = (match: RequestMatch, times: number, what: Fault): Promise<string> =>
    control.fault({ match, times, fault: what })
  const id = await ask(async (match) => {
    const generate = { ...match, contains: MARK.generate }
    await fault({ path: 'embeddings', contains: 'заказ 5507' }, 1, answer(502))
    await fault({ ...match, contains: MARK.plan }, 1, answer(429, { 'retry-after': '1' }))
    // Rules act together on one request: an answer hides a cut, a cut comes before a missing end.
    await fault(generate, 2, answer(401))
    await fault(generate, 3, { kind: 'cut', afterEvents: 2 })
    await fault(generate, 4, { kind: 'no_end_marker' })
  }, '5507')

  await world.foothold.handle(id).result({ timeoutMs: DONE_MS })

  const attempts = await attemptsOf(id)
  console.log(`GigaChat does all of it to one task: ${JSON.stringify(attempts)}`)
  expect(attempts).toEqual([
    ['waiting', 'llm_unavailable'],
    ['waiting', 'llm_rate_limited'],
    ['waiting', 'llm_unauthorized'],
    ['waiting', 'llm_unavailable'],
    ['waiting', 'llm_incomplete'],
    ['completed', 'completed'],
  ])
  expect(await trafficOf(world, { taskId: id, orderId: '5507' })).toEqual({
    ...ONCE,
    embeddings: 2,
    plans: 2,
    drafts: 5,
  })
})
