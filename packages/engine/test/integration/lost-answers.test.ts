import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { type Client, createClient } from '../../src/client/client.ts'
import { Meter } from '../../src/metrics/meter.ts'
import { signal } from '../../src/protocol/agent.ts'
import type { TaskId } from '../../src/protocol/task-context.ts'
import { askApproval } from '../../src/store/approvals.ts'
import { openDatabase } from '../../src/store/database.ts'
import { storeIntent } from '../../src/store/steps.ts'
import { support, type World, worlds } from './client-world.ts'
import { type CuttingProxy, startCuttingProxy } from './cutting-proxy.ts'

/**
 * The connection breaks while a statement is under way, before or after the server has carried it out. Each act is sent
 * again and must come out as if nothing had happened: done once, and not reported as a failure.
 */

const openWorld = worlds()
const paid = signal('paid', z.object({ amount: z.number() }))

interface Cut extends AsyncDisposable {
  readonly world: World
  /** Talks through the proxy; `world.client` does not. */
  readonly client: Client
  readonly proxy: CuttingProxy
}

async function setup(): Promise<Cut> {
  const world = await openWorld()
  const proxy = await startCuttingProxy(world.url)
  const db = openDatabase({ url: proxy.url, poolSize: 2 })
  return {
    world,
    proxy,
    client: createClient({ db, notifier: world.notifier, meter: new Meter() }),
    async [Symbol.asyncDispose]() {
      await db.close()
      await proxy[Symbol.asyncDispose]()
      await world[Symbol.asyncDispose]()
    },
  }
}

async function deadLetter({ client, hand }: World): Promise<TaskId> {
  const { id } = await client.submit(support, { text: 'а' })
  const fence = await hand.claim(id)
  await hand.step(fence, { key: 'план' })
  await hand.deadLetter(fence, 'step_failed')
  return id
}

describe.for(['before', 'after'] as const)('when the connection breaks %s the statement is carried out', (when) => {
  test.for([undefined, 'ключ'])(
    'a submit (dedupe key: %s) gives one task and says that it made it',
    async (dedupeKey) => {
      await using cut = await setup()
      cut.proxy.cutNext('insert into foothold.tasks', when)

      const handle = await cut.client.submit(support, { text: 'Где мой заказ?' }, { dedupeKey })

      expect(cut.proxy.cuts).toBe(1)
      expect(handle.created).toBe(true)
      expect((await cut.world.client.tasks()).items.map((task) => task.id)).toEqual([handle.id])
      expect((await cut.world.client.task(handle.id))?.input).toEqual({ text: 'Где мой заказ?', urgent: false })
    },
  )

  test('a cancel leaves the task cancelled', async () => {
    await using cut = await setup()
    const { id } = await cut.world.client.submit(support, { text: 'а' })
    cut.proxy.cutNext('cancel_requested_at', when)

    expect(await cut.client.cancel(id, { reason: 'передумал' })).toMatchObject({ status: 'cancelled' })

    expect(cut.proxy.cuts).toBe(1)
    expect(await cut.world.client.handle(id).state()).toEqual({ status: 'cancelled', reason: 'передумал' })
  })

  test('a resume gives one new attempt', async () => {
    await using cut = await setup()
    const id = await deadLetter(cut.world)
    cut.proxy.cutNext('crashes_total = 0', when)

    await cut.client.resume(id)

    expect(cut.proxy.cuts).toBe(1)
    expect(await cut.world.client.task(id)).toMatchObject({ status: 'pending', attempt: 1 })
  })

  test('a restart reports what it forgot', async () => {
    await using cut = await setup()
    const id = await deadLetter(cut.world)
    cut.proxy.cutNext('delete from foothold.agent_steps', when)

    expect(await cut.client.restart(id, { from: 'план' })).toEqual({ forgotten: ['план'], repeatedEffects: [] })

    expect(cut.proxy.cuts).toBe(1)
    expect(await cut.world.client.task(id)).toMatchObject({ status: 'pending', steps: [] })
  })

  test.for(['done', 'not_done'] as const)('a decision (%s) counts once', async (outcome) => {
    await using cut = await setup()
    const { client, hand, db } = cut.world
    const { id } = await client.submit(support, { text: 'а' })
    const fence = await hand.claim(id)
    const promise = { keyWindowMs: null, onDoubt: 'ask' } as const
    const intent = { key: 'e', version: 1, tries: 1, request: '{}', idempotencyKey: 'k', doubtForMs: 0, promise }
    await storeIntent(db, fence, intent, { doing: 'testing' })
    await hand.park(fence, { waitingFor: 'person' })
    cut.proxy.cutNext('refusals = s.refusals', when)

    await cut.client.decide(id, 'e', { outcome, result: { сделка: 1 }, by: 'Анна' })

    expect(cut.proxy.cuts).toBe(1)
    const rows = await cut.world.sql.query('select status, refusals from foothold.agent_steps')
    expect(rows.rows).toEqual([
      outcome === 'done' ? { status: 'completed', refusals: 0 } : { status: 'failed', refusals: 1 },
    ])
  })

  test.for(['approved', 'rejected'] as const)('an answer to a question (%s) counts once', async (decision) => {
    await using cut = await setup()
    const { client, hand, db } = cut.world
    const { id } = await client.submit(support, { text: 'а' })
    const fence = await hand.claim(id)
    const question = { key: 'можно', request: '{"title":"Можно?","details":null}', timeoutMs: null }
    await askApproval(db, fence, question, { doing: 'testing' })
    await hand.park(fence, { waitingFor: 'approval' })
    cut.proxy.cutNext(`'person:' || $4`, when)

    await cut.client.approve(id, 'можно', { decision, by: 'Анна' })

    expect(cut.proxy.cuts).toBe(1)
    expect((await client.task(id))?.steps).toMatchObject([{ status: 'completed', output: { decision, by: 'Анна' } }])
    const rows = await cut.world.sql.query('select status, wake_seq from foothold.tasks')
    expect(rows.rows).toEqual([{ status: 'pending', wake_seq: 1 }])
  })

  test('a limit is set, and removed', async () => {
    await using cut = await setup()
    cut.proxy.cutNext('insert into foothold.limits', when)
    await cut.client.setLimit({ key: 'модель' }, { concurrency: 5 })
    expect(await cut.world.client.limits()).toMatchObject([
      { kind: 'key', value: 'модель', concurrency: 5, rate: null },
    ])

    cut.proxy.cutNext('delete from foothold.limits', when)
    await cut.client.removeLimit({ key: 'модель' })

    expect(cut.proxy.cuts).toBe(2)
    expect(await cut.world.client.limits()).toEqual([])
  })

  test('a signal is stored once', async () => {
    await using cut = await setup()
    const { id } = await cut.world.client.submit(support, { text: 'а' })
    cut.proxy.cutNext('insert into foothold.signals', when)

    await cut.client.sendSignal(id, paid, { amount: 5 })

    expect(cut.proxy.cuts).toBe(1)
    const rows = await cut.world.sql.query('select payload from foothold.signals')
    expect(rows.rows).toEqual([{ payload: { amount: 5 } }])
  })

  test('a schedule is set, paused and let go on once', async () => {
    await using cut = await setup()
    await cut.world.sql.query('truncate foothold.schedules')
    const night = { agent: support, input: { text: 'ночь' }, cron: '30 2 * * *' }
    cut.proxy.cutNext('insert into foothold.schedules', when)
    await cut.client.schedule('night', night)
    cut.proxy.cutNext('is_paused <> $2', when)
    await cut.client.pauseSchedule('night')
    cut.proxy.cutNext('is_paused <> $2', when)
    await cut.client.unpauseSchedule('night')

    expect(cut.proxy.cuts).toBe(3)
    const rows = await cut.world.sql.query('select seq, is_paused from foothold.schedules')
    expect(rows.rows).toEqual([{ seq: 3, is_paused: false }])
  })

  test('a result is still waited for', async () => {
    await using cut = await setup()
    const { id } = await cut.world.client.submit(support, { text: 'а' })
    await cut.world.hand.complete(await cut.world.hand.claim(id), { ответ: 'да' })
    cut.proxy.cutNext('from foothold.tasks where id = any', when)

    expect(await cut.client.handle(id).result()).toEqual({ ответ: 'да' })

    expect(cut.proxy.cuts).toBe(1)
  })
})
