import { expect, test } from 'vitest'
import { createServer } from '../src/index.ts'
import { memoryFoothold } from './memory-foothold.ts'
import { json, setup } from './setup.ts'

const TOKEN = 'f00t-abcdef0123456789'

test('with a token every API request must bear it', async () => {
  const { app } = setup({ token: TOKEN })
  const ask = (authorization?: string): Response | Promise<Response> =>
    app.request('/v1/tasks', authorization === undefined ? {} : { headers: { authorization } })

  const refused = [
    await ask(),
    await ask(`Bearer ${TOKEN}x`),
    await ask(`Bearer ${TOKEN.slice(0, -1)}`),
    await ask(`Basic ${TOKEN}`),
    await ask(TOKEN),
    await ask('Bearer '),
  ]
  const allowed = [await ask(`Bearer ${TOKEN}`), await ask(`bearer ${TOKEN}`)]

  expect(refused.map((response) => response.status)).toEqual(refused.map(() => 401))
  expect(allowed.map((response) => response.status)).toEqual([200, 200])
  expect(refused[0]?.headers.get('www-authenticate')).toBe('Bearer realm="foothold"')
  const text = await (refused[1] as Response).text()
  expect(text).not.toContain(TOKEN)
})

test('a submission without the token is refused before its body is read', async () => {
  const { app, foothold } = setup({ token: TOKEN })
  let isRead = false
  const body = new ReadableStream(
    {
      pull() {
        isRead = true
      },
    },
    { highWaterMark: 0 },
  )

  const response = await app.request(
    new Request('http://localhost/v1/tasks', { method: 'POST', body, duplex: 'half' } as RequestInit),
  )

  expect(response.status).toBe(401)
  expect(isRead).toBe(false)
  expect(foothold.calls).toEqual([])
})

test('health and the page itself need no token', async () => {
  const { app } = setup({ token: TOKEN })

  const answers = await Promise.all(
    ['/healthz', '/readyz', '/', '/page/page.js'].map(async (path) => app.request(path)),
  )

  expect(answers.map((response) => response.status)).toEqual([200, 200, 200, 200])
})

test.each(['127.0.0.1:4400', 'localhost:4400', '[::1]:4400', 'LOCALHOST', '127.9.9.9'])(
  'without a token loopback names are served: %s',
  async (host) => {
    const { app } = setup()

    expect((await app.request('/v1/tasks', { headers: { host } })).status).toBe(200)
  },
)

test.each(['evil.example', '127.0.0.1.evil.example', 'localhost.evil.example:4400', '10.0.0.5', 'a@127.0.0.1', ''])(
  'without a token a name that DNS may have bent to us is refused: %j',
  async (host) => {
    const { app } = setup()

    const response = await app.request('/v1/tasks', { headers: { host } })

    expect(response.status).toBe(403)
    expect((await json(response)).code).toBe('HOST_REFUSED')
  },
)

test('a named host is served without a token, for an application that checks its callers in front', async () => {
  const { app } = setup({ allowedHosts: ['Tasks.example.com'] })

  expect((await app.request('/v1/tasks', { headers: { host: 'tasks.example.com' } })).status).toBe(200)
})

test('probes are answered under any name', async () => {
  const { app } = setup()

  expect((await app.request('/healthz', { headers: { host: '10.1.2.3:4400' } })).status).toBe(200)
})

test.each(['https://evil.example', 'http://localhost:3000', 'null'])(
  'without a token a change from another origin is refused: %s',
  async (origin) => {
    const { post, foothold } = setup()

    const response = await post('/v1/tasks', { agent: 'support', input: 1 }, { host: 'localhost:4400', origin })

    expect(response.status).toBe(403)
    expect((await json(response)).code).toBe('ORIGIN_REFUSED')
    expect(foothold.calls).toEqual([])
  },
)

test('a change from our own page is served', async () => {
  const { post } = setup()
  const headers = { host: 'localhost:4400', origin: 'http://localhost:4400' }

  expect((await post('/v1/tasks', { agent: 'support', input: 1 }, headers)).status).toBe(201)
})

test.each(['', 'two words', 'пароль'])('a token that could not protect is refused at start: %j', (token) => {
  expect(() => createServer({ foothold: memoryFoothold(), token })).toThrow(/^token: it /)
})

test('metrics are for whoever may call, and for a token that opens nothing else', async () => {
  const { app } = setup({ token: TOKEN, metricsToken: 'scraper-0123' })
  const ask = async (path: string, token: string): Promise<number> =>
    (await app.request(path, { headers: { authorization: `Bearer ${token}` } })).status

  expect((await app.request('/metrics')).status).toBe(401)
  expect([await ask('/metrics', TOKEN), await ask('/metrics', 'scraper-0123')]).toEqual([200, 200])
  expect(await ask('/v1/tasks', 'scraper-0123')).toBe(401)
  const { headers } = await app.request('/metrics', { headers: { authorization: `Bearer ${TOKEN}` } })
  expect(headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8')
})

test('without a token metrics are for loopback names alone', async () => {
  const { app } = setup()

  expect((await app.request('http://localhost/metrics')).status).toBe(200)
  expect((await app.request('http://evil.example/metrics')).status).toBe(403)
})
