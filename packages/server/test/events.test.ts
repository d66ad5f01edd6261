import type { StepView } from 'foothold'
import { expect, test } from 'vitest'
import { json, setup } from './setup.ts'

const STEP: StepView = {
  key: 'retrieve',
  kind: 'step',
  status: 'completed',
  version: 1,
  tries: 1,
  attempt: 1,
  workerId: 'w',
  output: null,
  error: null,
  usage: null,
  child: null,
  question: null,
  startedAt: new Date(),
  finishedAt: new Date(),
}

test('a stream tells state, steps and chunks under their names, numbers the chunks, and ends with the task', async () => {
  const { app, foothold, submit } = setup()
  const id = await submit()
  foothold.change(id, { status: 'processing', attempt: 1, workerId: 'w', steps: [STEP] })

  const response = await app.request(`/v1/tasks/${id}/events`)
  const text = response.text()
  foothold.chunk(id, 'generate', 'Ваш заказ\n')
  foothold.supersede(id, 'generate')
  foothold.chunk(id, 'generate', 'Заказ 5501 \0')
  foothold.end(id, 'completed')

  expect(Object.fromEntries(response.headers)).toMatchObject({
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-store, no-transform',
    'x-accel-buffering': 'no',
  })
  expect(await text).toBe(
    [
      'event: status\ndata: {"type":"status","status":"processing","reason":null,"attempt":1,"workerId":"w"}',
      'event: step\ndata: {"type":"step","key":"retrieve","status":"completed","tries":1,"attempt":1,"error":null}',
      'id: 1\nevent: chunk\ndata: {"type":"chunk","key":"generate","channel":"text","text":"Ваш заказ\\n","attempt":1,"cursor":"1"}',
      'id: 2\nevent: superseded\ndata: {"type":"superseded","key":"generate","cursor":"2"}',
      'id: 3\nevent: chunk\ndata: {"type":"chunk","key":"generate","channel":"text","text":"Заказ 5501 \\u0000","attempt":1,"cursor":"3"}',
      'event: status\ndata: {"type":"status","status":"completed","reason":null,"attempt":1,"workerId":null}',
      'event: end\ndata: {"type":"end","status":"completed","reason":null}',
      '',
    ].join('\n\n'),
  )
  expect(foothold.watching()).toBe(0)
})

test('a stream goes on after Last-Event-ID, which counts more than ?after=', async () => {
  const { app, foothold, submit } = setup()
  const id = await submit()
  for (const text of ['раз ', 'два ', 'три']) foothold.chunk(id, 'generate', text)
  foothold.end(id, 'completed')

  const byQuery = await (await app.request(`/v1/tasks/${id}/events?after=1`)).text()
  const byHeader = await (
    await app.request(`/v1/tasks/${id}/events?after=1`, { headers: { 'last-event-id': '2' } })
  ).text()

  expect(byQuery.match(/"text":"[^"]*"/g)).toEqual(['"text":"два "', '"text":"три"'])
  expect(byHeader.match(/"text":"[^"]*"/g)).toEqual(['"text":"три"'])
})

test('a stream of a task that is not there, or after a cursor that is none, is refused like any request', async () => {
  const { app, submit } = setup()
  const id = await submit()

  const missing = await app.request('/v1/tasks/01890a5d-ac96-774b-bcce-b302099a8057/events')
  const wrong = await app.request(`/v1/tasks/${id}/events?after=завтра`)

  expect([missing.status, wrong.status]).toEqual([404, 400])
  expect((await json(wrong)).detail).toContain('завтра is not a cursor')
})

test('a watcher that goes away ends its watch and touches no task', async () => {
  const { app, foothold, submit } = setup()
  const id = await submit()
  foothold.change(id, { status: 'processing' })
  const response = await app.request(`/v1/tasks/${id}/events`)
  const reader = (response.body as ReadableStream<Uint8Array>).getReader()
  await reader.read()
  const callsBefore = foothold.calls.length

  await reader.cancel()
  await foothold.untilWatching(0)

  expect(foothold.calls.length).toBe(callsBefore)
  expect((await foothold.task(id as never))?.status).toBe('processing')
})

test('a silent stream is kept alive by comments', async () => {
  const { app, foothold, submit } = setup({ keepAliveMs: 5 })
  const id = await submit()

  const response = await app.request(`/v1/tasks/${id}/events`)
  const reader = (response.body as ReadableStream<Uint8Array>).pipeThrough(new TextDecoderStream()).getReader()
  const frames: (string | undefined)[] = []
  for (let count = 0; count < 4; count += 1) frames.push((await reader.read()).value)
  foothold.chunk(id, 'generate', 'ответ')
  let frame = (await reader.read()).value
  while (frame === ': still here\n\n') frame = (await reader.read()).value
  await reader.cancel()

  expect(frames.slice(1)).toEqual([': still here\n\n', ': still here\n\n', ': still here\n\n'])
  expect(frame).toContain('ответ')
})

test('a slow reader holds the watch back instead of filling memory', async () => {
  const { app, foothold, submit } = setup()
  const id = await submit()
  const taken: string[] = []
  const chunks = {
    *[Symbol.iterator]() {
      for (let n = 1; n <= 1_000; n += 1) yield String(n)
    },
  }
  const handle = foothold.handle(id as never)
  foothold.handle = () => ({
    ...handle,
    async *watch() {
      for (const cursor of chunks) {
        taken.push(cursor)
        yield { type: 'chunk', key: 'generate', channel: 'text', text: 'щ', attempt: 1, cursor } as const
      }
    },
  })

  const response = await app.request(`/v1/tasks/${id}/events`)
  const reader = (response.body as ReadableStream<Uint8Array>).getReader()
  for (let count = 0; count < 3; count += 1) await reader.read()

  expect(taken.length).toBeLessThanOrEqual(4)
  await reader.cancel()
})

test('a watch that breaks ends the stream with a hint to come back, and no end', async () => {
  const logged: object[] = []
  const ignore = (): void => {}
  const logger = { debug: ignore, info: ignore, warn: ignore, error: (fields: object) => logged.push(fields) }
  const { app, foothold, submit } = setup({ logger })
  const id = await submit()
  const handle = foothold.handle(id as never)
  foothold.handle = () => ({
    ...handle,
    async *watch() {
      yield { type: 'status', status: 'processing', reason: null, attempt: 1, workerId: 'w' } as const
      throw new Error('the connection was terminated')
    },
  })

  const text = await (await app.request(`/v1/tasks/${id}/events`)).text()

  expect(text).toMatch(/^event: status\n.*\n\nretry: \d{4}\n\n$/)
  expect(logged).toEqual([expect.objectContaining({ taskId: id, error: 'Error: the connection was terminated' })])
})

test('a stopping server ends open streams with a hint to come back and opens no new ones', async () => {
  const stopping = new AbortController()
  const { app, foothold, submit } = setup({ stopping: stopping.signal })
  const id = await submit()
  const text = (await app.request(`/v1/tasks/${id}/events`)).text()

  stopping.abort()

  expect(await text).toMatch(/retry: \d{4}\n\n$/)
  await foothold.untilWatching(0)
  expect((await app.request(`/v1/tasks/${id}/events`)).status).toBe(503)
  expect((await app.request('/readyz')).status).toBe(503)
  expect((await app.request('/healthz')).status).toBe(200)
})

test('a stream over the limit is refused with 503, and one that closed makes room', async () => {
  const { app, foothold, submit } = setup()
  const id = await submit()
  const open = async (): Promise<Response> => app.request(`/v1/tasks/${id}/events`)
  const responses = await Promise.all(Array.from({ length: 1_000 }, open))

  const refused = await open()
  await responses[0]?.body?.cancel()
  const next = await open()

  expect([refused.status, next.status]).toEqual([503, 200])
  await Promise.all([...responses.slice(1), next].map(async (response) => response.body?.cancel()))
  await foothold.untilWatching(0)
})

test('HEAD on a stream answers its headers and watches nothing', async () => {
  const { app, foothold, submit } = setup()
  const id = await submit()

  const response = await app.request(`/v1/tasks/${id}/events`, { method: 'HEAD' })

  expect(response.headers.get('content-type')).toContain('text/event-stream')
  expect(foothold.watching()).toBe(0)
})
