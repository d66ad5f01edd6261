import pg from 'pg'
import * as v from 'valibot'
import { z } from 'zod'
import { agent, agentRef, connect, type Queryable, signal, type TaskContext, type TaskHandle } from '../../src/index.ts'

/** Right and wrong uses of the public surface, for the compiler alone: see types.test.ts. */

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
function is<T extends true>(): T {
  return true as T
}

const SupportRequest = z.object({
  client: z.string(),
  text: z.string(),
  at: z.iso.datetime().transform((text) => new Date(text)),
  urgent: z.boolean().default(false),
})
const paid = signal('paid', z.object({ amount: z.number() }))
declare const memory: { recall(request: { client: string }): Promise<{ history: string[] }> }

export const support = agent({
  name: 'support',
  version: 3,
  continues: [2],
  input: SupportRequest,
  async run(task, request) {
    is<Equal<typeof request.at, Date>>()
    is<Equal<typeof request.urgent, boolean>>()
    const context = await task.step('retrieve', () => memory.recall(request))
    is<Equal<typeof context, { history: string[] }>>()
    const deals = await Promise.all(
      ['a', 'b'].map((title) =>
        task.effect(`tool_call:${title}`, {
          request: { title },
          findLagMs: 5_000,
          find: async (wanted, { idempotencyKey }) => (wanted.title === idempotencyKey ? { dealId: '1' } : null),
          send: async (wanted, { idempotencyKey, signal: aborts }) => {
            aborts.throwIfAborted()
            return { dealId: wanted.title + idempotencyKey }
          },
        }),
      ),
    )
    is<Equal<typeof deals, { dealId: string }[]>>()
    const sms = await task.effect('sms', { onDoubt: 'stop', request: { to: '+7' }, send: async () => ({ id: 7 }) })
    if (sms.outcome === 'done') sms.result.id.toFixed()
    // @ts-expect-error an unknown outcome must be looked at
    void sms.result
    const row = await task.transaction('store', async (sql) => {
      await sql.query('insert into answers values ($1)', [1])
      return { ok: true as const }
    })
    is<Equal<typeof row, { ok: true }>>()
    await task.sleep('cool-down', 3_000)
    const payment = await task.waitForSignal('paid', paid)
    payment.amount.toFixed()
    const late = await task.waitForSignal('paid-2', paid, { timeoutMs: 1 })
    // @ts-expect-error it may have timed out
    void late.amount
    await task.step('talk', async ({ emit, signal: aborts, recordUsage }) => {
      emit('answer', 'при')
      recordUsage({ model: 'GigaChat-2-Pro', inputTokens: 1, outputTokens: 2 })
      aborts.throwIfAborted()
    })
    return task.step('verify', () => ({ answer: 'да', dealIds: deals.map(({ dealId }) => dealId) }))
  },
  async onDeadLetter(task, request, deadLetter) {
    is<Equal<typeof request.at, Date>>()
    await task.step('tell', () => deadLetter.error.message)
  },
})

export const summary = agent({
  name: 'summary',
  input: v.object({ text: v.string() }),
  run: async (task, input) => task.step('count', async () => input.text.length),
})

export async function wrongSteps(task: TaskContext): Promise<void> {
  // @ts-expect-error a step needs a key
  await task.step(() => 1)
  // @ts-expect-error a Response cannot be stored
  await task.step('fetch', () => fetch('http://localhost'))
  // @ts-expect-error a function cannot be stored
  await task.step('fn', () => ({ a: () => 1 }))
  // @ts-expect-error a symbol cannot be stored
  await task.step('symbol', () => Symbol('x'))
  // @ts-expect-error chunks are text
  await task.step('emit', ({ emit }) => emit('text', 1))
  // @ts-expect-error sleep has a key as everything that is stored
  await task.sleep(3_000)
  // @ts-expect-error a date, not a number
  await task.sleepUntil('later', 5)
  // @ts-expect-error a signal, not its name
  await task.waitForSignal('paid', 'paid')
  // @ts-expect-error a transaction is asynchronous
  await task.transaction('sync', () => 1)
  // @ts-expect-error a misspelt option
  await task.step('option', () => 1, { timeout: 5 })
}

export async function wrongEffects(task: TaskContext): Promise<void> {
  // @ts-expect-error nothing says what a doubt means
  await task.effect('a', { request: {}, send: async () => 1 })
  // @ts-expect-error find without the receiver's lag
  await task.effect('a', { request: {}, send: async () => 1, find: async () => 1 })
  // @ts-expect-error find has no meaning for stop
  await task.effect('a', { onDoubt: 'stop', request: {}, send: async () => 1, find: async () => 1 })
  // @ts-expect-error an unknown answer to doubt
  await task.effect('a', { onDoubt: 'exactly-once', request: {}, send: async () => 1 })
  // @ts-expect-error find must give what send gives
  await task.effect('a', { findLagMs: 1, request: {}, send: async () => ({ id: 1 }), find: async () => 'x' })
  // @ts-expect-error a request is needed: it is what is stored and sent again
  await task.effect('a', { onDoubt: 'repeat', send: async () => 1 })
}

export async function rightValues(task: TaskContext): Promise<void> {
  const keyed = await task.effect('k', { keyWindowMs: 86_400_000, request: { a: 1 }, send: async (r) => r.a })
  keyed.toFixed()
  const rich = await task.step('codec', () => ({ at: new Date(), n: 1n, m: new Map([['a', 1]]), u: undefined }))
  rich.m.get('a')?.toFixed()
  interface Row {
    readonly id: string
    readonly tags: readonly string[]
    nested?: { x: number | null }
  }
  const row = await task.step('interface', (): Row => ({ id: '1', tags: [] }))
  is<Equal<typeof row, Row>>()
  await task.step('void', async () => {})
}

export async function application(client: pg.PoolClient, maybe: string | undefined): Promise<void> {
  const foothold = await connect(maybe)
  const request = { client: 'a', text: 'b', at: '2026-12-02T00:00:00Z' }
  const handle = await foothold.submit(support, request, { dedupeKey: 'm1', priority: 'live', tenant: 'a' })
  const result = await handle.result()
  result.answer.trim()
  const state = await handle.state()
  if (state.status === 'completed') void state.output.dealIds.length
  // @ts-expect-error only a completed task has an output
  void state.output
  // @ts-expect-error wrong input
  await foothold.submit(support, { client: 'a', text: 5, at: 'x' })
  // @ts-expect-error a missing field
  await foothold.submit(support, { client: 'a' })
  // @ts-expect-error an unknown option
  await foothold.submit(support, request, { dedupe: 'm1' })
  // @ts-expect-error an unknown priority
  await foothold.submit(support, request, { priority: 'urgent' })
  await foothold.submit(summary, { text: '' }, { tenant: maybe })
  const again = await foothold.handle(handle.id, support).result()
  again.answer.trim()
  const byName: TaskHandle<{ answer: string; dealIds: string[] }> = await foothold.submit(
    agentRef<typeof support>('support'),
    request,
  )
  void byName
  // @ts-expect-error a wrong name
  agentRef<typeof support>('suport')
  // @ts-expect-error an id is not any string
  await foothold.cancel('abc')
  await foothold.sendSignal(handle.id, paid, { amount: 1 })
  // @ts-expect-error a wrong payload
  await foothold.sendSignal(handle.id, paid, { amount: '1' })
  await foothold.submit(summary, { text: '' }, { transaction: client })

  const schedule = await foothold.schedule('nightly', { agent: support, input: request, cron: '30 2 * * *' })
  is<Equal<typeof schedule.lastTickAt, Date | null>>()
  await foothold.schedule('by name', { agent: 'support', input: null, cron: '* * * * *', catchUp: 'all' })
  // @ts-expect-error its text is no number
  await foothold.schedule('wrong', { agent: support, input: { ...request, text: 5 }, cron: '* * * * *' })
  // @ts-expect-error there is no such policy
  await foothold.schedule('wrong', { agent: support, input: request, cron: '* * * * *', catchUp: 'some' })
  // @ts-expect-error it has no cron
  await foothold.schedule('wrong', { agent: support, input: request })
  const queryable: Queryable = client
  void queryable
  await foothold.worker({ agents: [support, summary], concurrency: 50 }).run()
  // @ts-expect-error a reference has no code to run
  foothold.worker({ agents: [agentRef<typeof support>('support')] })
  // @ts-expect-error agents are needed
  foothold.worker({})
}
