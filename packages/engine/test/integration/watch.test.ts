import { expect, test } from 'vitest'
import { createClient } from '../../src/client/client.ts'
import { newTaskId } from '../../src/client/new-id.ts'
import { Meter } from '../../src/metrics/meter.ts'
import type { TaskHandle } from '../../src/protocol/foothold.ts'
import type { TaskEvent } from '../../src/protocol/views.ts'
import type { Database } from '../../src/store/database.ts'
import { support, worlds } from './client-world.ts'

const openWorld = worlds()

/** Short words for events: `chunk say при`. */
function told(event: TaskEvent): string {
  switch (event.type) {
    case 'status':
      return `status ${event.status}`
    case 'step':
      return `step ${event.key} ${event.status}`
    case 'superseded':
      return `superseded ${event.key}`
    case 'chunk':
      return `chunk ${event.key} ${event.text}`
  }
}

async function all(handle: TaskHandle<unknown>, after?: string): Promise<TaskEvent[]> {
  const events: TaskEvent[] = []
  for await (const event of handle.watch({ after })) events.push(event)
  return events
}

async function until(watch: AsyncIterator<TaskEvent>, wanted: string): Promise<string[]> {
  const seen: string[] = []
  while (seen.at(-1) !== wanted) {
    const next = await watch.next()
    if (next.done === true) throw new Error(`the watch ended without ${wanted}: ${seen.join(', ')}`)
    seen.push(told(next.value))
  }
  return seen
}

test('a watch begins with what is, follows what happens, and ends with the task', async () => {
  await using world = await openWorld()
  const { client, hand } = world
  const handle = await client.submit(support, { text: 'а' })
  const watch = handle.watch()[Symbol.asyncIterator]()
  expect(await until(watch, 'status pending')).toEqual(['status pending'])
  const fence = await hand.claim(handle.id)
  await until(watch, 'status processing')
  await hand.step(fence, { key: 'план' })
  await until(watch, 'step план completed')
  await hand.chunk(fence, { key: 'ответ', tries: 1, seq: 0, text: '', channel: '$started' })
  await until(watch, 'step ответ running')
  await hand.chunk(fence, { key: 'ответ', tries: 1, seq: 1, text: 'При\u0000' })
  await until(watch, 'chunk ответ При\u0000')
  await hand.chunk(fence, { key: 'ответ', tries: 1, seq: 2, text: 'вет 😀' })
  await hand.step(fence, { key: 'ответ' })
  await hand.complete(fence, 1)

  expect(await until(watch, 'status completed')).toEqual([
    'chunk ответ вет 😀',
    'step ответ completed',
    'status completed',
  ])
  expect(await watch.next()).toEqual({ done: true, value: undefined })
})

test('a watch that comes after the end is told everything and ends', async () => {
  await using world = await openWorld()
  const handle = await world.client.submit(support, { text: 'а' })
  const fence = await world.hand.claim(handle.id)
  await world.hand.chunk(fence, { key: 'ответ', tries: 1, seq: 0, text: 'всё' })
  await world.hand.step(fence, { key: 'ответ' })
  await world.hand.deadLetter(fence, 'llm_refused')

  const events = await all(handle)

  expect(events.map(told)).toEqual(['step ответ completed', 'chunk ответ всё', 'status dead_letter'])
  expect(events.at(-1)).toMatchObject({ reason: 'llm_refused', attempt: 1 })
})

test('a watch of a cancelled task ends with the reason that was given', async () => {
  await using world = await openWorld()
  const handle = await world.client.submit(support, { text: 'а' })
  await handle.cancel({ reason: 'передумал' })

  expect(await all(handle)).toEqual([
    { type: 'status', status: 'cancelled', reason: 'передумал', attempt: 0, workerId: null },
  ])
})

test('from any cursor a watch goes on without a gap or repetition, over more chunks than one look takes', async () => {
  await using world = await openWorld()
  const handle = await world.client.submit(support, { text: 'а' })
  const fence = await world.hand.claim(handle.id)
  await world.sql.query(
    `insert into foothold.stream_chunks (task_id, key, attempt, tries, seq, channel, chunk, created_at)
     select $1, 'ответ', 1, 1, n, 'text', to_json('слово ' || n), now() from generate_series(1, 1300) n`,
    [handle.id],
  )
  await world.hand.complete(fence, 1)
  const textsOf = (events: TaskEvent[]): string[] =>
    events.flatMap((event) => (event.type === 'chunk' ? [event.text] : []))
  const whole = await all(handle)
  const texts = textsOf(whole)
  expect(texts).toEqual(Array.from({ length: 1300 }, (_, index) => `слово ${index + 1}`))

  const chunks = whole.filter((event) => event.type === 'chunk')
  for (const index of [0, 1, 499, 500, 777, 1299]) {
    expect(textsOf(await all(handle, chunks[index]?.cursor))).toEqual(texts.slice(index + 1))
  }
})

test('viewers at different places of one stream each get their own rest', async () => {
  await using world = await openWorld()
  const handle = await world.client.submit(support, { text: 'а' })
  const fence = await world.hand.claim(handle.id)
  for (let seq = 0; seq < 4; seq += 1) {
    await world.hand.chunk(fence, { key: 'ответ', tries: 1, seq, text: `${seq}` })
  }
  const early = handle.watch()[Symbol.asyncIterator]()
  const cursors: string[] = []
  while (cursors.length < 4) {
    const { value } = (await early.next()) as { value: TaskEvent }
    if (value.type === 'chunk') cursors.push(value.cursor)
  }
  const rests = [undefined, cursors[1], cursors[3]].map((after) => all(handle, after))
  await world.hand.chunk(fence, { key: 'ответ', tries: 1, seq: 4, text: '4' })
  await world.hand.complete(fence, 1)

  const shown = (await Promise.all(rests)).map((events) =>
    events.flatMap((event) => (event.type === 'chunk' ? [event.text] : [])).join(''),
  )
  expect(shown).toEqual(['01234', '234', '4'])
  expect(await until(early, 'status completed')).toEqual(['chunk ответ 4', 'status completed'])
})

test('a viewer that left is told on return that what it saw is void, when a later attempt began anew', async () => {
  await using world = await openWorld()
  const { hand } = world
  const handle = await world.client.submit(support, { text: 'а' })
  const first = await hand.claim(handle.id)
  await hand.chunk(first, { key: 'ответ', tries: 1, seq: 0, text: 'старое' })
  const watch = handle.watch()[Symbol.asyncIterator]()
  let cursor = ''
  while (cursor === '') {
    const { value } = (await watch.next()) as { value: TaskEvent }
    if (value.type === 'chunk') cursor = value.cursor
  }
  await watch.return?.()
  await world.sql.query(`update foothold.tasks set status = 'pending', worker_id = null`)
  const second = await hand.claim(handle.id)
  await hand.chunk(second, { key: 'ответ', tries: 1, seq: 0, text: '', channel: '$started' })
  await hand.chunk(first, { key: 'ответ', tries: 1, seq: 1, text: 'опоздавшее' })
  await hand.chunk(second, { key: 'ответ', tries: 1, seq: 1, text: 'новое' })

  const again = handle.watch({ after: cursor })[Symbol.asyncIterator]()

  expect(await until(again, 'chunk ответ новое')).toEqual([
    'status processing',
    'superseded ответ',
    'step ответ running',
    'chunk ответ новое',
  ])
  await again.return?.()
})

test('a watch ends with the reason of its signal, and the task goes on', async () => {
  await using world = await openWorld()
  const handle = await world.client.submit(support, { text: 'а' })
  const controller = new AbortController()
  const watch = handle.watch({ signal: controller.signal })[Symbol.asyncIterator]()
  await watch.next()
  const next = watch.next()
  const reason = new Error('вкладка закрыта')
  controller.abort(reason)

  await expect(next).rejects.toBe(reason)
  expect(await handle.state()).toEqual({ status: 'pending' })
})

test('a watch of nothing and a cursor that is none are refused', async () => {
  await using world = await openWorld()
  const handle = await world.client.submit(support, { text: 'а' })

  await expect(all(world.client.handle('задача' as never))).rejects.toMatchObject({ code: 'TASK_NOT_FOUND' })
  await expect(all(world.client.handle(newTaskId()))).rejects.toMatchObject({
    code: 'TASK_NOT_FOUND',
  })
  for (const after of ['', '-1', '1.5', 'x', '99999999999999999999', '9223372036854775808']) {
    await expect(all(handle, after)).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
      details: { field: 'options.after' },
    })
  }
})

test('a hundred waiting viewers share a few queries', async () => {
  await using world = await openWorld()
  const { hand, notifier } = world
  let queries = 0
  const db: Database = {
    ...world.db,
    run(text, values, options) {
      queries += 1
      return world.db.run(text, values, options)
    },
  }
  const client = createClient({ db, notifier, meter: new Meter() })
  const handle = await client.submit(support, { text: 'а' })
  const fence = await hand.claim(handle.id)
  const viewers = Array.from({ length: 100 }, () => handle.watch()[Symbol.asyncIterator]())
  await Promise.all(viewers.map((viewer) => viewer.next()))
  await hand.chunk(fence, { key: 'ответ', tries: 1, seq: 0, text: 'да' })
  const ends = viewers.map((viewer) => until(viewer, 'status completed'))
  await hand.complete(fence, 1)

  for (const end of await Promise.all(ends)) expect(end).toEqual(['chunk ответ да', 'status completed'])
  expect(queries).toBeLessThan(30)
})
