import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { ReasonedError, RetryError, TerminalError } from 'foothold'
import { expect, test } from 'vitest'
import { gigachat } from '../src/gigachat/gigachat.ts'
import {
  ASK,
  answer,
  CHAT,
  CREDENTIALS,
  DONE,
  delta,
  json,
  login,
  MODEL,
  OAUTH,
  read,
  setup,
  sse,
  streamOf,
  USAGE,
} from './gigachat-peer.ts'
import type { Route } from './wire-server.ts'

const plain = { messages: ASK.messages }

test.each([
  [400, {}, TerminalError, 'llm_refused', 'GigaChat answered 400: плохой запрос'],
  [402, {}, TerminalError, 'llm_refused', 'the tokens ran out'],
  [403, {}, TerminalError, 'llm_refused', '403'],
  [404, {}, TerminalError, 'llm_refused', '404'],
  [413, {}, TerminalError, 'llm_refused', '413'],
  [422, {}, TerminalError, 'llm_refused', '422'],
  [302, { location: 'http://127.0.0.1:1/' }, TerminalError, 'llm_refused', 'check the base URL'],
  [429, { 'retry-after': '30' }, RetryError, 'llm_rate_limited', '429'],
  [500, {}, ReasonedError, 'llm_unavailable', '500'],
  [503, { 'retry-after': '7' }, RetryError, 'llm_unavailable', '503'],
] as const)('a %i is an error of its own kind after one request', async (status, headers, kind, reason, words) => {
  const { client, peer } = await setup({
    [CHAT]: (response) => json(response, { status, message: 'плохой запрос' }, status, headers),
  })

  const { error } = await read(client, plain)

  expect(error).toBeInstanceOf(kind)
  expect(error).toMatchObject({ reason, message: expect.stringContaining(words) })
  expect(peer.to(CHAT)).toHaveLength(1)
})

test.each([
  ['seconds', { 'retry-after': '30' }],
  ['a date', { 'retry-after': 'Wed, 02 Dec 2026 10:00:30 GMT', date: 'Wed, 02 Dec 2026 10:00:00 GMT' }],
])('Retry-After in %s is the lower bound of the next try', async (_form, headers) => {
  const { client } = await setup({ [CHAT]: (response) => json(response, { message: 'Too many' }, 429, headers) })

  expect((await read(client)).error).toMatchObject({ reason: 'llm_rate_limited', afterMs: 30_000 })
})

test.each([502, 503, 504])(
  "a gateway's page with status %i is unavailability, and its HTML is nobody's message",
  async (status) => {
    const { client } = await setup({
      [CHAT]: (response) =>
        response.writeHead(status, { 'content-type': 'text/html' }).end('<html><h1>Bad Gateway</h1></html>'),
    })

    expect((await read(client)).error).toMatchObject({
      reason: 'llm_unavailable',
      message: `GigaChat answered ${status}`,
    })
  },
)

const HALF = delta({ role: 'assistant', content: 'Договор заканчивается 12' })

test.each([
  ['a clean close without any end', (response) => sse(response).end(HALF), 'llm_incomplete', 'without a finish reason'],
  ['[DONE] without a finish reason', (response) => sse(response).end(HALF + DONE), 'llm_incomplete', 'finish reason'],
  ['a cut', (response) => sse(response).write(HALF, () => response.destroy()), 'llm_unavailable', 'broke'],
  [
    'an event that is not JSON',
    (response) => sse(response).end(`${HALF}data: {"choices"\n\n`),
    'llm_incomplete',
    'JSON',
  ],
  [
    'an error as an event',
    (response) => sse(response).end(`${HALF}data: {"status":500,"message":"Сбой"}\n\n`),
    'llm_unavailable',
    '500: Сбой',
  ],
  [
    'bytes that are not UTF-8',
    (response) => sse(response).end(Buffer.concat([Buffer.from(HALF), Buffer.from('data: "\xD0"\n\n', 'latin1')])),
    'llm_incomplete',
    'not its protocol',
  ],
  [
    'an event without an end',
    (response) => sse(response).end(`${HALF}data: ${'я'.repeat(4 * 1024 * 1024)}`),
    'llm_incomplete',
    'not its protocol',
  ],
] satisfies [string, Route, string, string][])('a stream with %s is no answer', async (_name, route, reason, words) => {
  const { client } = await setup({ [CHAT]: route })

  const { error, events } = await read(client)

  expect(error).toMatchObject({ reason, message: expect.stringContaining(words) })
  expect(events.some((event) => event.type === 'finish')).toBe(false)
})

test('a stream cut after any byte either throws or gives the whole answer', async () => {
  const whole = Buffer.from(streamOf('Сделка №55', ' — 🌍 готово'))
  const finishAt = whole.indexOf('"finish_reason"')
  const { client } = await setup({
    [CHAT]: (response, _request, count) => {
      // The cut moves on by seven bytes with each call.
      sse(response).write(whole.subarray(0, count * 7), () => response.destroy())
    },
  })

  for (let cutAt = 7; cutAt < whole.length + 7; cutAt += 7) {
    const { error, text, events } = await read(client)

    if (error === null) {
      expect({ cutAt, text }).toEqual({ cutAt, text: 'Сделка №55 — 🌍 готово' })
      expect(events.at(-1)).toMatchObject({ type: 'finish' })
      expect(cutAt).toBeGreaterThan(finishAt)
    } else {
      expect(error).toMatchObject({ reason: expect.stringMatching(/^llm_(unavailable|incomplete)$/) })
    }
  }
})

const FINISHED = HALF + delta({ content: '' }, 'stop', USAGE)

test.each([
  ['closes', (response) => sse(response).end(FINISHED)],
  ['closes in the middle of the last line', (response) => sse(response).end(FINISHED.trimEnd())],
  ['breaks off', (response) => sse(response).write(FINISHED, () => response.destroy())],
  ['stays silent', (response) => sse(response).write(FINISHED)],
] satisfies [string, Route][])(
  'a finish reason is enough when the server then %s without [DONE]',
  async (_name, route) => {
    const { client } = await setup({ [CHAT]: route })

    const { error, events } = await read(client)

    expect(error).toBeNull()
    expect(events.at(-1)).toEqual({ type: 'finish', reason: 'stop', model: MODEL })
  },
)

test.each([
  ['length', 'Половина ответа', ReasonedError, 'llm_incomplete', 'limit of tokens'],
  ['length', '', ReasonedError, 'llm_incomplete', 'limit of tokens'],
  ['stop', ' \n', ReasonedError, 'llm_incomplete', 'empty'],
  ['error', '', ReasonedError, 'llm_incomplete', 'invalid arguments'],
  ['blacklist', 'Не люблю менять тему', TerminalError, 'llm_refused', 'topic'],
] as const)(
  'finish reason %s with the text %j is no answer, and its tokens are counted',
  async (finish, content, kind, reason, words) => {
    const { client } = await setup({ [CHAT]: (response) => json(response, answer({ content }, finish)) })

    const { error, events } = await read(client, plain)

    expect(error).toBeInstanceOf(kind)
    expect(error).toMatchObject({ reason, message: expect.stringContaining(words) })
    expect(events.at(-1)).toEqual({ type: 'usage', inputTokens: 17, outputTokens: 42, raw: USAGE })
  },
)

test('a page with status 200 is no answer', async () => {
  const { client } = await setup({
    [CHAT]: (response) => response.writeHead(200, { 'content-type': 'text/html' }).end('<html>Вход в сеть</html>'),
  })

  expect((await read(client)).error).toMatchObject({
    reason: 'llm_incomplete',
    message: expect.stringContaining('not JSON'),
  })
})

test('a host that nobody listens on is unavailable, and the request surely never left', async () => {
  const host = await closedHost()
  const { client } = await setup({}, { baseUrl: `http://${host}/api/v1` })

  const { error } = await read(client)

  expect(error).toBeInstanceOf(RetryError)
  expect(error).toMatchObject({
    reason: 'llm_unavailable',
    message: `GigaChat: no connection to ${host} (ECONNREFUSED).`,
  })
})

test('neither the credentials nor a token stand in any error, whatever the server echoes', async () => {
  const { client } = await setup({
    [OAUTH]: login,
    [CHAT]: (response, request, count) =>
      json(response, { message: `header ${request.headers.authorization} ${CREDENTIALS}` }, count === 1 ? 400 : 401),
  })
  const wrong = await setup({
    [OAUTH]: (response, request) =>
      json(response, { code: 4, message: `Can't decode ${request.headers.authorization}` }, 400),
  })

  for (const { error } of [await read(client), await read(client), await read(wrong.client)]) {
    const shown = JSON.stringify(error, Object.getOwnPropertyNames(error)) + String((error as Error).stack)
    expect(shown).toContain('[secret]')
    expect(shown).not.toContain(CREDENTIALS)
    expect(shown).not.toMatch(/token-\d/)
  }
})

test.each([
  [{ credentials: '' }, 'gigachat.credentials: no value was given'],
  [{ credentials: 'ключ' }, 'gigachat.credentials: it contains'],
  [{ credentials: 'a\r\nX-Evil: 1' }, 'gigachat.credentials: it contains'],
  [{ baseUrl: 'gigachat' }, 'gigachat.baseUrl: it is not an http(s) address'],
  [{ authUrl: 'https://user:secret@host/' }, 'gigachat.authUrl: it carries a name or password'],
  [{ ca: '/etc/ssl/root.pem' }, 'gigachat.ca: it is not a certificate in PEM form'],
  [{ embeddingsModel: 'GigaEmbeddings-3B' }, 'gigachat.embeddingsModel: GigaEmbeddings-3B is none of'],
])('a wrong setting %j is refused at once', (options, message) => {
  expect(() => gigachat({ credentials: CREDENTIALS, ...options })).toThrow(message)
})

/** An address that was listened on a moment ago. */
async function closedHost(): Promise<string> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return `127.0.0.1:${port}`
}
