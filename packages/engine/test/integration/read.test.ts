import { expect, test } from 'vitest'
import { z } from 'zod'
import { createClient } from '../../src/client/client.ts'
import { Meter } from '../../src/metrics/meter.ts'
import { agent } from '../../src/protocol/agent.ts'
import type { TaskHandle } from '../../src/protocol/foothold.ts'
import type { TaskId } from '../../src/protocol/task-context.ts'
import { openDatabase } from '../../src/store/database.ts'
import { support, worlds } from './client-world.ts'

const openWorld = worlds()
const other = agent({ name: 'other', input: z.object({ text: z.string() }), run: async () => 1 })

test('a list of tasks is given newest first, page by page, without a gap or repetition while new ones come', async () => {
  await using world = await openWorld()
  const ids: TaskId[] = []
  for (let n = 0; n < 7; n += 1) ids.unshift((await world.client.submit(support, { text: `${n}` })).id)
  const seen: TaskId[] = []
  let cursor: string | undefined

  do {
    const page = await world.client.tasks({ cursor, limit: 3 })
    seen.push(...page.items.map((task) => task.id))
    cursor = page.nextCursor ?? undefined
    await world.client.submit(support, { text: 'новая' })
  } while (cursor !== undefined)

  expect(seen).toEqual(ids)
})

test('a list is narrowed by status, agent and tenant', async () => {
  await using world = await openWorld()
  const tenant = 'ООО «Ромашка»'
  const first = await world.client.submit(support, { text: 'а' }, { tenant })
  const second = await world.client.submit(other, { text: 'б' }, { tenant })
  const third = await world.client.submit(support, { text: 'в' })
  await third.cancel()
  const idsOf = async (filter: object): Promise<TaskId[]> =>
    (await world.client.tasks(filter)).items.map((task) => task.id)

  expect(await idsOf({ status: 'cancelled' })).toEqual([third.id])
  expect(await idsOf({ agent: 'support' })).toEqual([third.id, first.id])
  expect(await idsOf({ tenant })).toEqual([second.id, first.id])
  expect(await idsOf({ tenant, agent: 'other', status: 'pending' })).toEqual([second.id])
  expect(await idsOf({ agent: 'nobody' })).toEqual([])
})

test.for([
  ['limit', { limit: 0 }],
  ['limit', { limit: 201 }],
  ['limit', { limit: '5' }],
  ['status', { status: 'done' }],
  ['agent', { agent: 'поддержка' }],
  ['tenant', { tenant: 'a\u0000' }],
  ['cursor', { cursor: 'дальше' }],
  ['state', { state: 'pending' }],
] as const)('a bad filter is refused by its name: %s', async ([name, filter]) => {
  await using world = await openWorld()

  await expect(world.client.tasks(filter as never)).rejects.toMatchObject({
    code: 'INVALID_ARGUMENT',
    details: { field: `filter.${name}` },
  })
})

test('one task is shown with its steps, attempts, output and costs as they were stored', async () => {
  await using world = await openWorld()
  const { hand, client } = world
  const { id } = await client.submit(support, { text: 'а' })
  const parked = await hand.claim(id)
  await hand.step(parked, {
    key: 'план',
    output: '{"$foothold":"bigint","value":"9007199254740993"}',
    usage: '{"model":"GigaChat","inputTokens":10,"outputTokens":5}',
  })
  const error = '{"code":"CRM_DOWN","message":"CRM не отвечает","reason":"crm_unavailable"}'
  await hand.step(parked, { key: 'crm', kind: 'effect', status: 'failed', tries: 2, error })
  await hand.park(parked, {
    waitingFor: 'retry',
    wakeInMs: 0,
    reason: 'crm_unavailable',
    detail: 'CRM не отвечает',
    failures: 2,
  })
  await world.sql.query(`update foothold.tasks set status = 'pending', wake_at = null, waiting_for = null`)
  await hand.complete(await hand.claim(id), { answer: 'Ваш заказ\u0000 в пути' })

  const task = await client.task(id)

  expect(task).toMatchObject({
    status: 'completed',
    attempt: 2,
    workerId: null,
    errorCount: 2,
    output: { answer: 'Ваш заказ\u0000 в пути' },
    error: null,
    steps: [
      {
        key: 'план',
        status: 'completed',
        output: 9007199254740993n,
        usage: { model: 'GigaChat', inputTokens: 10, outputTokens: 5 },
      },
      {
        key: 'crm',
        kind: 'effect',
        status: 'failed',
        tries: 2,
        output: null,
        error: { code: 'CRM_DOWN', message: 'CRM не отвечает' },
      },
    ],
    attempts: [
      { attempt: 1, workerId: hand.workerId, outcome: 'waiting', reason: 'crm_unavailable', detail: 'CRM не отвечает' },
      { attempt: 2, outcome: 'completed' },
    ],
  })
  for (const time of [
    task?.createdAt,
    task?.startedAt,
    task?.finishedAt,
    task?.steps[0]?.startedAt,
    task?.attempts[0]?.endedAt,
  ]) {
    expect(Math.abs(Date.now() - (time as Date).getTime())).toBeLessThan(60_000)
  }
})

test('times are right though the application has told the driver to leave them as text', async () => {
  await using world = await openWorld()
  const { id } = await world.client.submit(support, { text: 'а' }, { runAt: new Date(Date.now() + 3_600_000) })
  const { default: pg } = await import('pg')
  const before = pg.types.getTypeParser(1184)
  const expected = await world.client.task(id)
  pg.types.setTypeParser(1184, (text: string) => text)
  try {
    expect(await world.client.task(id)).toEqual(expected)
    expect(expected?.wakeAt).toBeInstanceOf(Date)
  } finally {
    pg.types.setTypeParser(1184, before)
  }
})

test('workers and agents are listed as they registered', async () => {
  await using world = await openWorld()

  expect(await world.client.agents()).toEqual(['support'])
  expect(await world.client.workers()).toMatchObject([
    { id: world.hand.workerId, release: 'r1', status: 'active', handlers: ['support@3'], concurrency: 5, running: 0 },
  ])
})

test('a result waits for the end of its task, is the output as a resume would see it, and comes for many at once', async () => {
  await using world = await openWorld()
  const handles: TaskHandle<unknown>[] = []
  for (const text of ['а', 'б', 'в']) handles.push(await world.client.submit(support, { text }))
  const results = Promise.all(handles.map((handle) => handle.result()))
  for (const handle of handles) {
    await world.hand.complete(await world.hand.claim(handle.id), { at: new Date(5), of: handle.id })
  }

  expect(await results).toEqual(handles.map((handle) => ({ at: new Date(5), of: handle.id })))
})

test('a result of a cancelled task or a dead letter is an error with the reason', async () => {
  await using world = await openWorld()
  const { client, hand } = world
  const cancelled = await client.submit(support, { text: 'а' })
  await cancelled.cancel({ reason: 'передумал' })
  const dead = await client.submit(support, { text: 'б' })
  await hand.deadLetter(await hand.claim(dead.id), 'llm_refused')

  await expect(cancelled.result()).rejects.toMatchObject({ code: 'TASK_CANCELLED', details: { reason: 'передумал' } })
  await expect(dead.result()).rejects.toMatchObject({
    code: 'TASK_DEAD_LETTER',
    details: { reason: 'llm_refused', message: 'не вышло' },
  })
  expect(await dead.state()).toEqual({
    status: 'dead_letter',
    reason: 'llm_refused',
    error: { code: 'STEP_FAILED', message: 'не вышло' },
  })
})

test('waiting for a result ends by its time limit, by its signal, or with the connection; the task goes on', async () => {
  await using world = await openWorld()
  const handle = await world.client.submit(support, { text: 'а' })
  const controller = new AbortController()
  const reason = new Error('вкладка закрыта')
  const aborted = handle.result({ signal: controller.signal })
  controller.abort(reason)

  await expect(aborted).rejects.toBe(reason)
  await expect(handle.result({ signal: controller.signal })).rejects.toBe(reason)
  await expect(handle.result({ timeoutMs: 30 })).rejects.toMatchObject({ code: 'RESULT_TIMEOUT' })
  const closed = handle.result()
  const watched = handle.watch()[Symbol.asyncIterator]()
  await watched.next()
  const next = watched.next()
  world.client.stopWatching()
  await expect(closed).rejects.toMatchObject({ code: 'CLOSED' })
  await expect(next).rejects.toMatchObject({ code: 'CLOSED' })
  await expect(handle.result()).rejects.toMatchObject({ code: 'CLOSED' })
  expect(await handle.state()).toEqual({ status: 'pending' })
})

test('ready tells a database that takes writes from one that is read-only, and from none', async () => {
  await using world = await openWorld()
  await world.client.ready()

  const name = new URL(world.url).pathname.slice(1)
  await world.sql.query(`alter database ${name} set default_transaction_read_only = on`)
  const readOnly = openDatabase({ url: world.url, poolSize: 1 })
  const nowhere = openDatabase({ url: 'postgres://foothold@127.0.0.1:1/none', poolSize: 1 })
  try {
    const clientOf = (db: typeof readOnly) => createClient({ db, notifier: world.notifier, meter: new Meter() })
    await expect(clientOf(readOnly).ready()).rejects.toMatchObject({ code: 'DATABASE_UNAVAILABLE' })
    await expect(clientOf(nowhere).ready({ timeoutMs: 50 })).rejects.toMatchObject({ code: 'DATABASE_UNAVAILABLE' })
  } finally {
    await world.sql.query('set default_transaction_read_only = off')
    await world.sql.query(`alter database ${name} reset default_transaction_read_only`)
    await readOnly.close()
    await nowhere.close()
  }
})
