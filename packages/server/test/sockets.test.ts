import { request as httpRequest } from 'node:http'
import { connect, type Socket } from 'node:net'
import { createClient, type TaskEvent } from '@foothold/http-api'
import { Hono } from 'hono'
import { afterEach, expect, test } from 'vitest'
import { createServer, type Listening, type ServeOptions, serve } from '../src/index.ts'
import { type MemoryFoothold, memoryFoothold } from './memory-foothold.ts'

const open: (() => Promise<void>)[] = []
afterEach(async () => {
  await Promise.all(open.splice(0).map((close) => close()))
})

async function listening(
  options: Partial<ServeOptions> = {},
): Promise<{ foothold: MemoryFoothold; server: Listening }> {
  const foothold = memoryFoothold()
  const server = await serve({ foothold, logger: 'silent', graceMs: 300, ...options } as ServeOptions)
  open.push(() => server.close())
  return { foothold, server }
}

async function submit(foothold: MemoryFoothold): Promise<string> {
  return (await foothold.submit('support', { text: 'Где мой заказ?' })).id
}

/** A socket and all it has said, for what fetch would hide. */
function rawSocket(port: number): { socket: Socket; until: (text: string) => Promise<string>; end: Promise<string> } {
  const socket = connect(port, '127.0.0.1')
  let heard = ''
  socket.setEncoding('utf8').on('data', (text: string) => {
    heard += text
  })
  const end = new Promise<string>((resolve) => {
    socket.on('error', () => {}).on('close', () => resolve(heard))
  })
  const until = (text: string): Promise<string> =>
    new Promise((resolve) => {
      const look = (): void => {
        if (!heard.includes(text)) return
        socket.off('data', look)
        resolve(heard)
      }
      socket.on('data', look)
      look()
    })
  return { socket, until, end }
}

test('a watcher that lost its connection goes on after its last event, without gap or repetition', async () => {
  const { foothold, server } = await listening()
  const id = await submit(foothold)
  foothold.change(id, { status: 'processing' })
  const path = `/v1/tasks/${id}/events`
  foothold.chunk(id, 'generate', 'раз ')

  const first = rawSocket(server.port)
  first.socket.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`)
  await first.until('"раз "')
  first.socket.destroy()
  await foothold.untilWatching(0)
  foothold.chunk(id, 'generate', 'два ')
  const second = rawSocket(server.port)
  second.socket.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\nLast-Event-ID: 1\r\nConnection: close\r\n\r\n`)
  await second.until('"два "')
  foothold.chunk(id, 'generate', 'три')
  foothold.end(id, 'completed')

  expect((await second.end).match(/"text":"[^"]*"/g)).toEqual(['"text":"два "', '"text":"три"'])
  expect((await foothold.task(id as never))?.status).toBe('completed')
})

test('a silent stream is kept alive on the wire', async () => {
  const { foothold, server } = await listening({ keepAliveMs: 5 })
  const id = await submit(foothold)
  const { socket, until } = rawSocket(server.port)

  socket.write(`GET /v1/tasks/${id}/events HTTP/1.1\r\nHost: localhost\r\n\r\n`)

  expect(await until(': still here')).toContain('X-Accel-Buffering'.toLowerCase())
  socket.destroy()
})

test('close ends open streams with a hint to come back, lets answers finish, and closes idle connections', async () => {
  const { foothold, server } = await listening({ graceMs: 20_000 })
  const id = await submit(foothold)
  const idle = rawSocket(server.port)
  idle.socket.write('GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n')
  await idle.until('"ok"')
  const stream = rawSocket(server.port)
  stream.socket.write(`GET /v1/tasks/${id}/events HTTP/1.1\r\nHost: localhost\r\n\r\n`)
  await stream.until('event: status')
  const list = foothold.tasks.bind(foothold)
  let answer = (): void => {}
  const asked = new Promise<void>((resolve) => {
    foothold.tasks = async (filter) => {
      resolve()
      await new Promise<void>((go) => {
        answer = go
      })
      return list(filter)
    }
  })
  const slow = fetch(`${server.url}/v1/tasks`)
  await asked

  const closing = server.close()
  const heard = await stream.end
  answer()

  expect(heard).toMatch(/retry: \d{4}/)
  expect(heard).not.toContain('event: end')
  expect((await slow).status).toBe(200)
  await idle.end
  await closing
  await expect(fetch(`${server.url}/healthz`)).rejects.toThrow()
  await foothold.untilWatching(0)
})

test('close cuts what does not finish within the grace, and may be called twice', async () => {
  const { foothold, server } = await listening({ graceMs: 30 })
  foothold.tasks = () => new Promise(() => {})
  const hung = rawSocket(server.port)
  hung.socket.write('GET /v1/tasks HTTP/1.1\r\nHost: localhost\r\n\r\n')
  await new Promise((resolve) => hung.socket.once('ready', resolve))

  await Promise.all([server.close(), server.close()])

  expect(await hung.end).toBe('')
})

test('a declared body over the limit is refused before any of it is sent', async () => {
  const { server, foothold } = await listening({ bodyBytesMax: 1_000 })
  const { socket, until } = rawSocket(server.port)

  socket.write(
    'POST /v1/tasks HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 9000000000\r\n\r\n',
  )

  const answer = await until('bytesMax')
  expect(answer).toContain('HTTP/1.1 413')
  expect(answer).toContain('"code":"BODY_TOO_LARGE"')
  expect(foothold.calls).toEqual([])
  socket.destroy()
})

test('a body without a declared length is read up to the limit and no further', async () => {
  const { server, foothold } = await listening({ bodyBytesMax: 100_000 })
  let sentBytes = 0
  const chunk = Buffer.alloc(16_384, ' ')

  const status = await new Promise<number | undefined>((resolve) => {
    const request = httpRequest(`${server.url}/v1/tasks`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'transfer-encoding': 'chunked' },
    })
    request.on('error', () => {})
    request.on('response', (response) => {
      isAnswered = true
      resolve(response.statusCode)
      response.resume()
      request.destroy()
    })
    let isAnswered = false
    const send = (): void => {
      if (isAnswered) return
      sentBytes += chunk.length
      request.write(chunk, () => setImmediate(send))
    }
    send()
  })

  expect(status).toBe(413)
  expect(sentBytes).toBeLessThan(100_000_000)
  expect(foothold.calls).toEqual([])
})

test('a client that is still sending when its body is refused is heard out: its connection serves the next request', async () => {
  const { server, foothold } = await listening({ bodyBytesMax: 1_000 })
  const { socket, until } = rawSocket(server.port)
  const half = ' '.repeat(100_000)

  socket.write(
    `POST /v1/tasks HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 200000\r\n\r\n${half}`,
  )
  expect(await until('bytesMax')).toContain('HTTP/1.1 413')
  socket.write(`${half}GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n`)

  expect(await until('"status":"ok"')).toContain('HTTP/1.1 200')
  expect(foothold.calls).toEqual([])
  socket.destroy()
})

test('a body of exactly the limit is served', async () => {
  const body = JSON.stringify({ agent: 'support', input: 'щ'.repeat(100) })
  const { server } = await listening({ bodyBytesMax: Buffer.byteLength(body) })
  const post = (text: string): Promise<Response> =>
    fetch(`${server.url}/v1/tasks`, { method: 'POST', headers: { 'content-type': 'application/json' }, body: text })

  expect((await post(body)).status).toBe(201)
  expect((await post(`${body} `)).status).toBe(413)
})

test('fifty submissions at once under one key are one task', async () => {
  const { server } = await listening()
  const client = createClient({ url: server.url })

  const answers = await Promise.all(
    Array.from({ length: 50 }, () => client.submit({ agent: 'support', input: { a: 'й' }, dedupeKey: 'k-7' })),
  )

  expect(new Set(answers.map((answer) => answer.id)).size).toBe(1)
  expect(answers.filter((answer) => answer.created)).toHaveLength(1)
})

test.each(['0.0.0.0', '::', '10.0.0.5', 'example.com'])(
  'without a token only loopback is listened on, and the refusal says the cure: %s',
  async (host) => {
    await expect(serve({ foothold: memoryFoothold(), host })).rejects.toThrow(/host: .*no token is set\. Set `token`/)
  },
)

test('with a token any address is listened on, and everything but health asks for it', async () => {
  const { server } = await listening({ host: '0.0.0.0', token: 'f00t-abcdef0123456789' })

  const statuses = await Promise.all(
    ['/v1/tasks', '/healthz', '/readyz'].map(async (path) => (await fetch(server.url + path)).status),
  )
  const client = createClient({ url: server.url, token: 'f00t-abcdef0123456789' })

  expect(statuses).toEqual([401, 200, 200])
  expect((await client.tasks()).items).toEqual([])
})

test('an application of its own is listened on as a whole: behind its token, with the streams ended on close', async () => {
  const foothold = memoryFoothold()
  const app = new Hono()
  app.get('/intake', (context) => context.text('здесь'))
  app.route('/tasks', createServer({ foothold, logger: 'silent' }))
  const server = await serve({ app, host: '0.0.0.0', token: 'f00t-abcdef0123456789', graceMs: 20_000 })
  open.push(() => server.close())
  const id = await submit(foothold)
  const headers = { authorization: 'Bearer f00t-abcdef0123456789', host: 'tasks.example.com' }

  const refused = await fetch(`${server.url}/intake`)
  const intake = await fetch(`${server.url}/intake`, { headers })
  const stream = await fetch(`${server.url}/tasks/v1/tasks/${id}/events`, { headers })
  await server.close()

  expect([refused.status, intake.status, stream.status]).toEqual([401, 200, 200])
  expect(await stream.text()).toMatch(/retry: \d{4}/)
})

test('a port that is taken is named in the refusal', async () => {
  const { server } = await listening()

  await expect(serve({ foothold: memoryFoothold(), port: server.port })).rejects.toThrow(
    `port: ${server.port} on 127.0.0.1 is taken by another process. Use another port, or 0 for any free one.`,
  )
})

test('a client follows a task through a restart of the server and sees each piece once', async () => {
  const { foothold, server } = await listening()
  const id = await submit(foothold)
  foothold.change(id, { status: 'processing' })
  foothold.chunk(id, 'generate', 'раз ')
  const events: TaskEvent[] = []
  const client = createClient({ url: server.url, reconnectMs: 5 })
  let seen = (): void => {}
  const sawFirst = new Promise<void>((resolve) => {
    seen = resolve
  })

  const following = (async () => {
    for await (const event of client.events(id)) {
      events.push(event)
      if (event.type === 'chunk') seen()
    }
  })()
  await sawFirst
  await server.close()
  foothold.chunk(id, 'generate', 'два ')
  const next = await serve({ foothold, port: server.port, logger: 'silent' })
  open.push(() => next.close())
  await foothold.untilWatching(1)
  foothold.chunk(id, 'generate', 'три')
  foothold.end(id, 'completed')
  await following

  expect(events.filter((event) => event.type === 'chunk').map((event) => event.text)).toEqual(['раз ', 'два ', 'три'])
  expect(events.at(-1)).toEqual({ type: 'end', status: 'completed', reason: null })
})
