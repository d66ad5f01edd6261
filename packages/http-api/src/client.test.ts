import { expect, test } from 'vitest'
import { ApiError, createClient } from './index.ts'

const ID = '01890a5d-ac96-774b-bcce-b302099a8057'

type Answer = (url: URL, init: RequestInit) => Response | Promise<Response>

/** A client whose server is a function; `requests` is all it was asked. */
function setup(answer: Answer, url = 'http://127.0.0.1:4400/foothold') {
  const requests: { method: string; url: string; headers: Headers; body: unknown }[] = []
  const client = createClient({
    url,
    token: 'f00t',
    reconnectMs: 1,
    giveUpAfterMs: 10_000,
    fetch: async (input, init = {}) => {
      const { method = 'GET', headers, body } = init
      requests.push({ method, url: input, headers: new Headers(headers), body: body ?? null })
      return answer(new URL(input), init)
    },
  })
  return { client, requests }
}

function stream(...texts: string[]): Response {
  const bytes = texts.map((text) => new TextEncoder().encode(text))
  const body = new ReadableStream({
    start(controller) {
      for (const chunk of bytes) controller.enqueue(chunk)
      controller.close()
    },
  })
  return new Response(body, { headers: { 'content-type': 'text/event-stream; charset=utf-8' } })
}

function chunk(cursor: number, text: string): string {
  const event = { type: 'chunk', key: 'generate', channel: 'text', text, attempt: 1, cursor: String(cursor) }
  return `id: ${cursor}\nevent: chunk\ndata: ${JSON.stringify(event)}\n\n`
}

const END = 'event: end\ndata: {"type":"end","status":"completed","reason":"completed"}\n\n'

async function collect<T>(events: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = []
  for await (const event of events) found.push(event)
  return found
}

test('a submission travels below the base path, with the token and values in their wire form', async () => {
  const { client, requests } = setup(() => Response.json({ id: ID, created: true }, { status: 201 }))

  const answer = await client.submit({
    agent: 'support',
    input: { id: 9007199254740993n, at: new Date('2027-01-02T03:04:05Z'), text: 'a\0б' },
    dedupeKey: 'письмо-7',
    tenant: undefined,
    runAt: new Date('2027-03-01T00:00:00Z'),
  })

  expect(answer).toEqual({ id: ID, created: true })
  expect(requests).toHaveLength(1)
  expect(requests[0]).toMatchObject({ method: 'POST', url: 'http://127.0.0.1:4400/foothold/v1/tasks' })
  expect(requests[0]?.headers.get('authorization')).toBe('Bearer f00t')
  expect(requests[0]?.headers.get('content-type')).toBe('application/json')
  expect(JSON.parse(requests[0]?.body as string)).toEqual({
    agent: 'support',
    input: { id: '9007199254740993', at: '2027-01-02T03:04:05.000Z', text: 'a\0б' },
    dedupeKey: 'письмо-7',
    runAt: '2027-03-01T00:00:00.000Z',
  })
})

test('filters become query parameters, absent ones do not', async () => {
  const { client, requests } = setup(() => Response.json({ items: [], nextCursor: null }))

  await client.tasks({ status: 'dead_letter', tenant: 'ООО «Ромашка»', limit: 5, agent: undefined })
  await client.deadLetters()

  const [first, second] = requests.map((request) => new URL(request.url))
  expect(Object.fromEntries(first?.searchParams ?? [])).toEqual({
    status: 'dead_letter',
    tenant: 'ООО «Ромашка»',
    limit: '5',
  })
  expect(second?.href).toBe('http://127.0.0.1:4400/foothold/v1/dead-letters')
})

test('a refusal is an ApiError with the code, details, request id and wait of the server', async () => {
  const problem = {
    type: 'urn:foothold:error:DATABASE_UNAVAILABLE',
    title: 'Database unavailable',
    status: 503,
    detail: 'PostgreSQL did not answer.',
    code: 'DATABASE_UNAVAILABLE',
    details: { waitedMs: 5_000 },
    requestId: 'req-7',
  }
  const { client } = setup(() => Response.json(problem, { status: 503, headers: { 'retry-after': '2' } }))

  const error = await client.task(ID).catch((caught: unknown) => caught)

  expect(error).toBeInstanceOf(ApiError)
  expect(error).toMatchObject({
    message: 'PostgreSQL did not answer.',
    code: 'DATABASE_UNAVAILABLE',
    status: 503,
    details: { waitedMs: 5_000 },
    requestId: 'req-7',
    retryAfterMs: 2_000,
  })
})

test('an answer of something else than our server says so', async () => {
  const html = setup(() => new Response('<h1>Bad gateway</h1>', { status: 502 }))
  const other = setup(() => Response.json({ hello: 'мир' }))

  await expect(html.client.task(ID)).rejects.toMatchObject({ code: 'UNEXPECTED_ANSWER', status: 502 })
  await expect(other.client.task(ID)).rejects.toMatchObject({ code: 'UNEXPECTED_ANSWER', status: 200 })
})

test('no answer is UNREACHABLE and names the address', async () => {
  const { client } = setup(() => Promise.reject(new TypeError('fetch failed', { cause: new Error('ECONNREFUSED') })))

  await expect(client.workers()).rejects.toMatchObject({
    code: 'UNREACHABLE',
    status: 0,
    message: 'No answer from http://127.0.0.1:4400/foothold/v1/workers: ECONNREFUSED',
  })
})

test.each(['', '127.0.0.1:4400', 'ftp://example.com'])('an address that is none is refused at once: %j', (url) => {
  expect(() => createClient({ url })).toThrow(/^url: .*Use /)
})

test('a server that takes a request and says nothing is given up after the limit', async () => {
  const silent = (_: string, init?: RequestInit): Promise<Response> =>
    new Promise((_resolve, reject) => {
      init?.signal?.addEventListener('abort', () => reject(init.signal?.reason as Error))
    })
  const client = createClient({
    url: 'http://127.0.0.1:1',
    timeoutMs: 5,
    giveUpAfterMs: 1,
    reconnectMs: 1,
    fetch: silent,
  })

  await expect(client.task(ID)).rejects.toMatchObject({
    code: 'UNREACHABLE',
    message: expect.stringContaining('no answer within 5 ms') as string,
  })
  await expect(collect(client.events(ID))).rejects.toMatchObject({ code: 'UNREACHABLE' })
})

test('an aborted call ends with the caller’s own reason', async () => {
  const controller = new AbortController()
  const { client } = setup(
    (_, { signal }) =>
      new Promise((_resolve, reject) => signal?.addEventListener('abort', () => reject(signal.reason))),
  )
  const reason = new Error('передумал')

  const call = client.task(ID, { signal: controller.signal })
  controller.abort(reason)

  await expect(call).rejects.toBe(reason)
})

test('a stream cut in the middle of an event and of a letter is taken up after the last whole event', async () => {
  const whole = new TextEncoder().encode(chunk(1, 'раз ') + chunk(2, 'два '))
  const cutAt = whole.length - 20
  const answers = [
    () =>
      new Response(
        new ReadableStream({
          start(controller) {
            controller.enqueue(whole.slice(0, cutAt))
          },
          pull(controller) {
            controller.error(new TypeError('terminated'))
          },
        }),
        { headers: { 'content-type': 'text/event-stream' } },
      ),
    () => stream(chunk(2, 'два '), ': still here\n\n', 'event: new-in-1.7\ndata: x\n\n', END),
  ]
  const { client, requests } = setup(() => (answers.shift() as () => Response)())

  const events = await collect(client.events(ID))

  expect(events.map((event) => (event.type === 'chunk' ? event.text : event.type))).toEqual(['раз ', 'два ', 'end'])
  expect(requests.map((request) => request.headers.get('last-event-id'))).toEqual([null, '1'])
})

test('a stream begun after a cursor says so, and one split anywhere is read the same', async () => {
  const text = chunk(8, 'ответ ✓') + END
  const bytes = new TextEncoder().encode(text)
  const { client, requests } = setup(
    () =>
      new Response(
        new ReadableStream({
          start(controller) {
            for (const byte of bytes) controller.enqueue(new Uint8Array([byte]))
            controller.close()
          },
        }),
        { headers: { 'content-type': 'text/event-stream' } },
      ),
  )

  const events = await collect(client.events(ID, { after: '7' }))

  expect(events.map((event) => event.type)).toEqual(['chunk', 'end'])
  expect(requests[0]?.headers.get('last-event-id')).toBe('7')
})

test('a passing failure is waited out, a lasting one is thrown', async () => {
  const problem = (status: number, code: string): Response =>
    Response.json({ type: '', title: '', status, detail: code, code, details: {}, requestId: 'r' }, { status })
  const passing = [problem(503, 'STOPPING'), problem(500, 'INTERNAL'), problem(429, 'SLOW_DOWN'), stream(END)]
  const waited = setup(() => passing.shift() as Response)
  const lasting = setup(() => problem(404, 'TASK_NOT_FOUND'))

  expect(await collect(waited.client.events(ID))).toHaveLength(1)
  await expect(collect(lasting.client.events(ID))).rejects.toMatchObject({ code: 'TASK_NOT_FOUND' })
  expect([waited.requests.length, lasting.requests.length]).toEqual([4, 1])
})

test('a server that stays away is given up after the limit', async () => {
  const client = createClient({
    url: 'http://127.0.0.1:1',
    reconnectMs: 1,
    giveUpAfterMs: 20,
    fetch: () => Promise.reject(new TypeError('fetch failed')),
  })

  await expect(collect(client.events(ID))).rejects.toMatchObject({ code: 'UNREACHABLE' })
})

test('leaving the loop closes the connection, aborting it throws the reason', async () => {
  const cancelled: unknown[] = []
  const endless = (): Response =>
    new Response(
      new ReadableStream({
        start(controller) {
          controller.enqueue(new TextEncoder().encode(chunk(1, 'раз ')))
        },
        cancel(reason) {
          cancelled.push(reason)
        },
      }),
      { headers: { 'content-type': 'text/event-stream' } },
    )
  const { client } = setup(endless)

  for await (const event of client.events(ID)) {
    expect(event.type).toBe('chunk')
    break
  }

  expect(cancelled).toHaveLength(1)
})

test('an abort while waiting to reconnect ends the events at once with its reason', async () => {
  const controller = new AbortController()
  const reason = new Error('окно закрыто')
  let failed = (): void => {}
  const firstFailed = new Promise<void>((resolve) => {
    failed = resolve
  })
  const client = createClient({
    url: 'http://127.0.0.1:1',
    reconnectMs: 60_000,
    fetch: () => {
      failed()
      return Promise.reject(new TypeError('fetch failed'))
    },
  })

  const following = collect(client.events(ID, { signal: controller.signal }))
  await firstFailed
  controller.abort(reason)

  await expect(following).rejects.toBe(reason)
})

test('an answer that is no event stream is not taken for one', async () => {
  const { client } = setup(() => new Response('<html>Войти</html>', { headers: { 'content-type': 'text/html' } }))

  await expect(collect(client.events(ID))).rejects.toMatchObject({ code: 'UNEXPECTED_ANSWER' })
})
