import { once } from 'node:events'
import pg from 'pg'
import * as v from 'valibot'
import { expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { newTaskId } from '../../src/client/new-id.ts'
import { agent, agentRef } from '../../src/protocol/agent.ts'
import { insertTask, queryableOf, readDedupe, type TaskInsert } from '../../src/store/submit.ts'
import { movableClock } from '../../src/testing/clock.ts'
import { support, untilWaiting, worlds } from './client-world.ts'

const openWorld = worlds()

const DAY_MS = 86_400_000

test('a submitted task is pending for the version of the agent that was given, with what its schema made of the input', async () => {
  await using world = await openWorld()

  const handle = await world.client.submit(
    support,
    { text: 'Где мой заказ?' },
    { priority: 'live', tenant: 'ООО «Ромашка»' },
  )

  expect(handle.created).toBe(true)
  expect(await handle.state()).toEqual({ status: 'pending' })
  expect(await world.client.task(handle.id)).toMatchObject({
    agent: 'support',
    version: 3,
    priority: 'live',
    tenant: 'ООО «Ромашка»',
    input: { text: 'Где мой заказ?', urgent: false },
    attempt: 0,
    deadlineAt: null,
  })
})

test('a transform of the schema runs once: what it gave is stored, dates and big integers included', async () => {
  await using world = await openWorld()
  let runs = 0
  const parser = agent({
    name: 'parser',
    input: z.object({
      at: z.iso.datetime().transform((text) => {
        runs += 1
        return new Date(text)
      }),
      id: z.string().transform((digits) => BigInt(digits)),
    }),
    run: async () => 1,
  })

  const { id } = await world.client.submit(parser, { at: '2026-12-02T00:00:00Z', id: '9007199254740993' })

  const task = await world.client.task(id)
  expect(task?.input).toEqual({ at: new Date('2026-12-02T00:00:00Z'), id: 9007199254740993n })
  expect(runs).toBe(1)
})

test('an asynchronous schema is awaited, and a refused input names the paths', async () => {
  await using world = await openWorld()
  const picky = agent({
    name: 'picky',
    input: v.objectAsync({
      client: v.object({ orders: v.array(v.object({ id: v.number() })) }),
      name: v.pipeAsync(
        v.string(),
        v.checkAsync(async (name) => name !== 'занято', 'Имя занято'),
      ),
    }),
    run: async () => 1,
  })
  const input = { client: { orders: [{ id: 1 }, { id: 'два' as never }] }, name: 'занято' }

  await expect(world.client.submit(picky, input)).rejects.toMatchObject({
    code: 'INPUT_INVALID',
    details: {
      agent: 'picky',
      issues: [{ path: 'client.orders[1].id' }, { path: 'name', message: 'Имя занято' }],
    },
  })
  expect((await world.client.tasks()).items).toEqual([])
})

test('50 concurrent submits with one key give one task, and every answer carries its id', async () => {
  await using world = await openWorld()

  const handles = await Promise.all(
    Array.from({ length: 50 }, () => world.client.submit(support, { text: 'Привет' }, { dedupeKey: 'k-7' })),
  )

  expect(new Set(handles.map((handle) => handle.id)).size).toBe(1)
  expect(handles.filter((handle) => handle.created)).toHaveLength(1)
  expect((await world.client.tasks()).items).toHaveLength(1)
})

test('the order of keys in the input does not matter for its dedupe key, another input is refused', async () => {
  await using world = await openWorld()
  const first = await world.client.submit(support, { text: 'Привет', urgent: true }, { dedupeKey: 'ключ' })

  const second = await world.client.submit(support, { urgent: true, text: 'Привет' }, { dedupeKey: 'ключ' })

  expect(second).toMatchObject({ id: first.id, created: false })
  await expect(world.client.submit(support, { text: 'Пока' }, { dedupeKey: 'ключ' })).rejects.toMatchObject({
    code: 'DEDUPE_CONFLICT',
    details: { dedupeKey: 'ключ', taskId: first.id },
  })
})

test('a repetition is recognised though the schema fills in the present time', async () => {
  await using world = await openWorld()
  let calls = 0
  const stamped = agent({
    name: 'stamped',
    input: z.object({ text: z.string(), at: z.number().default(() => (calls += 1)) }),
    run: async () => 1,
  })
  const first = await world.client.submit(stamped, { text: 'а' }, { dedupeKey: 'k' })

  const second = await world.client.submit(stamped, { text: 'а' }, { dedupeKey: 'k' })

  expect(second.id).toBe(first.id)
})

test('the same key of another tenant or agent is another key', async () => {
  await using world = await openWorld()
  const other = agent({ name: 'other', input: z.object({ text: z.string() }), run: async () => 1 })
  const options = { dedupeKey: 'k' }

  const ids = await Promise.all([
    world.client.submit(support, { text: 'а' }, options),
    world.client.submit(support, { text: 'а' }, { ...options, tenant: 'б' }),
    world.client.submit(other, { text: 'а' }, options),
  ])

  expect(new Set(ids.map((handle) => handle.id)).size).toBe(3)
})

test('a dedupe key can be used anew after 30 days, and by one of many at once', async () => {
  await using world = await openWorld()
  const clock = movableClock(world.ownerUrl)
  onTestFinished(() => clock.reset())
  const first = await world.client.submit(support, { text: 'а' }, { dedupeKey: 'k' })
  await clock.advance(30 * DAY_MS - 60_000)
  expect((await world.client.submit(support, { text: 'а' }, { dedupeKey: 'k' })).id).toBe(first.id)
  await clock.advance(120_000)

  const later = await Promise.all(
    Array.from({ length: 10 }, () => world.client.submit(support, { text: 'другое' }, { dedupeKey: 'k' })),
  )

  expect(new Set(later.map((handle) => handle.id)).size).toBe(1)
  expect(later[0]?.id).not.toBe(first.id)
  expect((await world.client.tasks()).items).toHaveLength(2)
})

test('a submit whose answer was lost is sent again without a second task', async () => {
  await using world = await openWorld()
  const sql = queryableOf(world.db, 'testing')
  const task = (key: string | null): TaskInsert => ({
    id: newTaskId(),
    agent: 'support',
    handler: 'support@3',
    tenant: '',
    dedupe: key === null ? null : { key, bodyHash: 'h', days: 30 },
    limitKey: null,
    priority: 1,
    input: '{"text":"а"}',
    isInputChecked: true,
    isInputStable: true,
    runAt: null,
    deadline: { afterMs: 1_000 },
  })
  for (const insert of [task(null), task('k')]) {
    expect(await insertTask(sql, insert, { replaceExpiredKey: false })).toBe('pending')
    expect(await insertTask(sql, insert, { replaceExpiredKey: false })).toBe('nothing')
    expect(await insertTask(sql, insert, { replaceExpiredKey: true })).toBe('nothing')
  }

  expect((await world.client.tasks()).items).toHaveLength(2)
  const dedupe = await readDedupe(sql, { agent: 'support', tenant: '', key: 'k' })
  expect(dedupe?.taskId).toBe((await world.client.tasks()).items[0]?.id)
})

test('a task of an open transaction is invisible, gone after a rollback, and there after a commit', async () => {
  await using world = await openWorld()
  const { client, sql } = world
  await sql.query('begin')
  const undone = await client.submit(support, { text: 'а' }, { transaction: sql, dedupeKey: 'k' })
  expect(undone.created).toBe(true)
  expect(await client.task(undone.id)).toBeNull()
  await expect(undone.state()).rejects.toMatchObject({ code: 'TASK_NOT_FOUND' })
  await sql.query('rollback')
  expect(await client.task(undone.id)).toBeNull()

  await sql.query('begin')
  const kept = await client.submit(support, { text: 'другое' }, { transaction: sql, dedupeKey: 'k' })
  await sql.query('commit')

  expect(await kept.state()).toEqual({ status: 'pending' })
})

test('a submit with a key that an open transaction has just used waits for its outcome', async () => {
  await using world = await openWorld()
  const { client, sql } = world
  await sql.query('begin')
  const first = await client.submit(support, { text: 'а' }, { transaction: sql, dedupeKey: 'k' })
  const second = client.submit(support, { text: 'а' }, { dedupeKey: 'k' })
  await untilWaiting(world, 'foothold.dedupe')
  await sql.query('commit')

  expect(await second).toMatchObject({ id: first.id, created: false })
})

test('a refused input leaves the transaction of the caller usable', async () => {
  await using world = await openWorld()
  const { client, sql } = world
  await client.submit(support, { text: 'а' }, { dedupeKey: 'k' })
  await sql.query('begin')
  await expect(client.submit(support, { text: 1 as never }, { transaction: sql })).rejects.toMatchObject({
    code: 'INPUT_INVALID',
  })
  await expect(client.submit(support, { text: 'б' }, { transaction: sql, dedupeKey: 'k' })).rejects.toMatchObject({
    code: 'DEDUPE_CONFLICT',
  })

  const kept = await client.submit(support, { text: 'в' }, { transaction: sql })
  await sql.query('commit')

  expect(await kept.state()).toEqual({ status: 'pending' })
})

test('a producer without the code submits by name to the newest version, unchecked', async () => {
  await using world = await openWorld()
  const inputs = [
    await world.client.submit('support', { text: 5, лишнее: true }),
    await world.client.submit(agentRef<typeof support>('support'), { text: 'а' }),
  ]

  const rows = await world.sql.query('select id, handler, input_checked, deadline_ms from foothold.tasks order by id')
  expect(rows.rows).toEqual(
    inputs.map(({ id }) => ({ id, handler: 'support@3', input_checked: false, deadline_ms: 600_000 })),
  )
  expect((await world.client.task(inputs[0]?.id as never))?.input).toEqual({ text: 5, лишнее: true })
})

test('a name that nobody runs is refused with the names that are known', async () => {
  await using world = await openWorld()

  await expect(world.client.submit('suport', {})).rejects.toMatchObject({
    code: 'AGENT_UNKNOWN',
    details: { agent: 'suport', known: ['support'] },
  })
})

test('a task for later waits for its start and keeps the place that its time gives', async () => {
  await using world = await openWorld()
  const runAt = new Date(Date.now() + 3_600_000)

  const later = await world.client.submit(support, { text: 'а' }, { runAt })
  const past = await world.client.submit(support, { text: 'б' }, { runAt: new Date(0) })

  expect(await world.client.task(later.id)).toMatchObject({ status: 'waiting', waitingFor: 'start', wakeAt: runAt })
  expect(await world.client.task(past.id)).toMatchObject({ status: 'pending', waitingFor: null, wakeAt: null })
  const jumped = await world.sql.query(`select run_at >= created_at as in_line from foothold.tasks where id = $1`, [
    past.id,
  ])
  expect(jumped.rows).toEqual([{ in_line: true }])
})

test('a deadline that the producer gives is kept to the letter, the one of the agent begins with the first claim', async () => {
  await using world = await openWorld()
  const deadlineAt = new Date(Date.now() + 3_600_000)
  await world.client.submit(support, { text: 'а' }, { deadlineAt })
  await world.client.submit(support, { text: 'б' })

  const rows = await world.sql.query('select deadline_at, deadline_ms from foothold.tasks order by id')

  expect(rows.rows).toEqual([
    { deadline_at: deadlineAt, deadline_ms: null },
    { deadline_at: null, deadline_ms: 900_000 },
  ])
})

test('NUL, lone surrogates, Cyrillic and large numbers come back as they were, in values and in keys', async () => {
  await using world = await openWorld()
  const open = agent({ name: 'open', input: z.unknown(), run: async () => 1 })
  const input = {
    'ключ\u0000\ud800': 'a\u0000b \udc00 Ё 😀',
    $foothold: 'date',
    big: 9007199254740993n,
    digits: '5366182128746793135',
    list: [undefined, Number.NaN, -0, new Uint8Array([0, 255])],
  }

  const { id } = await world.client.submit(open, input, { dedupeKey: 'Ж'.repeat(256), tenant: 'арендатор 😀' })

  expect((await world.client.task(id))?.input).toEqual(input)
})

test.for([
  ['dedupeKey', { dedupeKey: 'a\u0000b' }],
  ['dedupeKey', { dedupeKey: 'Ж'.repeat(257) }],
  ['dedupeKey', { dedupeKey: '\ud800' }],
  ['dedupeKey', { dedupeKey: '' }],
  ['tenant', { tenant: '' }],
  ['tenant', { tenant: 7 }],
  ['priority', { priority: 'urgent' }],
  ['runAt', { runAt: new Date(Number.NaN) }],
  ['deadlineAt', { deadlineAt: '2026-12-02' }],
  ['deadlineAt', { deadlineAt: new Date(1), runAt: new Date(2) }],
  ['dedupekey', { dedupekey: 'k' }],
  ['transaction', { transaction: {} }],
] as const)('a bad option is refused by its name: %s', async ([name, options]) => {
  await using world = await openWorld()

  await expect(world.client.submit(support, { text: 'а' }, options as never)).rejects.toMatchObject({
    code: 'INVALID_ARGUMENT',
    details: { field: `options.${name}` },
  })
})

test('a value that cannot be stored is refused by its path before anything is written', async () => {
  await using world = await openWorld()
  const open = agent({ name: 'open', input: z.unknown(), run: async () => 1 })

  await expect(world.client.submit(open, { a: [{ b: () => 1 }] })).rejects.toMatchObject({
    code: 'VALUE_NOT_STORABLE',
    details: { path: '$.a[0].b' },
  })
  expect((await world.client.tasks()).items).toEqual([])
})

test('a submit announces its handler after its commit, and never from inside a transaction', async () => {
  await using world = await openWorld()
  const listener = new pg.Client({ connectionString: world.url })
  await listener.connect()
  try {
    const heard: string[] = []
    listener.on('notification', (message) => heard.push(message.payload ?? ''))
    await listener.query('listen foothold_pending')
    const first = once(listener, 'notification')
    await world.sql.query('begin')
    await world.client.submit(support, { text: 'а' }, { transaction: world.sql })
    await world.sql.query('commit')
    await world.db.run(`select pg_notify('foothold_pending', 'fence')`, [], { doing: 'testing' })
    await first
    expect(heard).toEqual(['fence'])

    const second = once(listener, 'notification')
    await Promise.all(Array.from({ length: 40 }, () => world.client.submit(support, { text: 'а' })))
    await second

    expect(heard[1]).toBe('support@3')
  } finally {
    await listener.end()
  }
})
