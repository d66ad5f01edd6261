import { TerminalError } from 'foothold'
import { expect, onTestFinished, test } from 'vitest'
import { accessTokens } from '../src/gigachat/access-token.ts'
import { openConnection } from '../src/gigachat/connection.ts'
import { CHAT, CREDENTIALS, collectWarnings, json, login, OAUTH, read, setup, sse, streamOf } from './gigachat-peer.ts'
import { type Route, wireServer } from './wire-server.ts'

const MINUTE_MS = 60_000
const signal = new AbortController().signal
const hello: Route = (response) => sse(response).end(streamOf('Привет'))

test('forty calls at once log in once', async () => {
  const warnings = collectWarnings()
  const { client, peer } = await setup({ [CHAT]: hello })

  const answers = await Promise.all(Array.from({ length: 40 }, () => read(client)))

  expect(answers.map(({ text }) => text)).toEqual(Array.from({ length: 40 }, () => 'Привет'))
  expect(peer.to(OAUTH)).toHaveLength(1)
  expect(warnings).toEqual([])
})

test('the login carries the key, a request id and the scope', async () => {
  const { client, peer } = await setup({ [CHAT]: hello }, { scope: 'GIGACHAT_API_B2B' })

  await read(client)

  const [request] = peer.to(OAUTH)
  expect(request?.headers.authorization).toBe(`Basic ${CREDENTIALS}`)
  expect(request?.headers.rquid).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
  expect(request?.headers['content-type']).toMatch(/^application\/x-www-form-urlencoded/)
  expect(request?.body).toBe('scope=GIGACHAT_API_B2B')
  expect(peer.to(CHAT)[0]?.headers.authorization).toBe('Bearer token-1')
})

test('when a token dies in mid-life, forty calls log in once more and all succeed', async () => {
  let dead = ''
  const { client, peer } = await setup({
    [CHAT]: (response, request) => {
      if (request.headers.authorization === dead) json(response, { status: 401, message: 'Token has expired' }, 401)
      else hello(response, request, 0)
    },
  })
  await read(client)
  dead = 'Bearer token-1'

  const answers = await Promise.all(Array.from({ length: 40 }, () => read(client)))

  expect(answers.every(({ error }) => error === null)).toBe(true)
  expect(peer.to(OAUTH)).toHaveLength(2)
})

test('a 401 to a fresh token too is an error of its own, after two requests', async () => {
  const { client, peer } = await setup({ [CHAT]: (response) => json(response, { message: 'Unauthorized' }, 401) })

  const { error } = await read(client)

  expect(error).toMatchObject({ reason: 'llm_unauthorized', '~foothold.failure': 'retry' })
  expect(peer.to(CHAT)).toHaveLength(2)
})

test.each([
  [400, { code: 4, message: "Can't decode 'Authorization' header" }],
  [401, { code: 6, message: "credentials doesn't match db data" }],
  [400, { code: 7, message: 'scope from db not fully includes consumed scope' }],
])('credentials refused with %i stop the task and name the settings', async (status, body) => {
  const { client, peer } = await setup({ [OAUTH]: (response) => json(response, body, status) })

  const { error } = await read(client)

  expect(error).toBeInstanceOf(TerminalError)
  expect(error).toMatchObject({
    reason: 'llm_unauthorized',
    message: `GigaChat login answered ${status}: ${body.message}; check credentials (GIGACHAT_CREDENTIALS) and scope (GIGACHAT_SCOPE).`,
  })
  expect(peer.to(OAUTH)).toHaveLength(1)
})

test('a 429 of the login is waited for and costs no call a try', async () => {
  const { client, peer } = await setup({
    [OAUTH]: (response, request, count) => {
      if (count === 1) json(response, { code: 429, message: 'too many' }, 429, { 'retry-after': '1' })
      else login(response, request, count)
    },
    [CHAT]: hello,
  })

  const startedAt = performance.now()
  const answers = await Promise.all(Array.from({ length: 10 }, () => read(client)))

  expect(answers.every(({ error }) => error === null)).toBe(true)
  expect(peer.to(OAUTH)).toHaveLength(2)
  expect(performance.now() - startedAt).toBeGreaterThanOrEqual(990)
})

test('a login that asks for a long wait gives the time to the engine instead of holding the step', async () => {
  const { client, peer } = await setup({
    [OAUTH]: (response) => json(response, { message: 'too many' }, 429, { 'retry-after': '60' }),
  })

  expect((await read(client)).error).toMatchObject({ reason: 'llm_rate_limited', afterMs: 60_000 })
  expect(peer.to(OAUTH)).toHaveLength(1)
})

test.each([
  ['a page', (response) => response.writeHead(502, { 'content-type': 'text/html' }).end('<html>')],
  ['no token', (response) => json(response, { expires_at: 1 })],
  ['a token that no header can carry', (response) => json(response, { access_token: 'a\nb' })],
  ['a cut', (response) => response.destroy()],
] satisfies [string, Route][])('a login that answers with %s is unavailable', async (_what, route) => {
  const { client } = await setup({ [OAUTH]: route })

  expect((await read(client)).error).toMatchObject({ reason: 'llm_unavailable' })
})

test('a call that is aborted while it waits for the login leaves the others their login', async () => {
  let answerLogin: () => void = () => undefined
  const { client, peer } = await setup({
    [OAUTH]: (response, request, count) => {
      answerLogin = () => login(response, request, count)
    },
    [CHAT]: hello,
  })
  const stop = new AbortController()
  const arrival = peer.arrival(OAUTH)
  const stopped = read(client, undefined, stop.signal)
  const other = read(client)
  await arrival

  stop.abort(new Error('Отменено'))
  expect((await stopped).error).toEqual(new Error('Отменено'))
  answerLogin()

  expect((await other).text).toBe('Привет')
  expect(peer.to(OAUTH)).toHaveLength(1)
})

/** The tokens alone, with a clock that the test moves. */
async function tokensAt(route: Route): Promise<{
  tokens: ReturnType<typeof accessTokens>
  logins: () => number
  arrival: () => Promise<unknown>
  advance: (ms: number) => void
}> {
  const peer = await wireServer({ [OAUTH]: route })
  const connection = openConnection({})
  onTestFinished(() => connection.close())
  let now = 0
  const tokens = accessTokens({
    authUrl: `${peer.url}${OAUTH}`,
    credentials: CREDENTIALS,
    scope: 'GIGACHAT_API_PERS',
    connection,
    nowMs: () => now,
  })
  return {
    tokens,
    logins: () => peer.to(OAUTH).length,
    arrival: () => peer.arrival(OAUTH),
    advance: (ms) => {
      now += ms
    },
  }
}

/** Half an hour from a whole second, so that all forms say the same. */
const inHalfAnHour = (): number => Math.ceil(Date.now() / 1000) * 1000 + 30 * MINUTE_MS

test.each([
  ['milliseconds', (token: string) => ({ access_token: token, expires_at: inHalfAnHour() })],
  ['seconds', (token: string) => ({ access_token: token, expires_at: inHalfAnHour() / 1000 })],
  ['tok and exp', (token: string) => ({ tok: token, exp: inHalfAnHour() / 1000 })],
])('an expiry in %s is understood: used for 28 minutes, never after 31', async (_form, body) => {
  const { tokens, logins, advance } = await tokensAt((response, _request, count) => json(response, body(`t${count}`)))

  expect(await tokens.get(signal)).toBe('t1')
  advance(28 * MINUTE_MS)
  expect(await tokens.get(signal)).toBe('t1')
  expect(logins()).toBe(1)
  advance(3 * MINUTE_MS)
  expect(await tokens.get(signal)).toBe('t2')
})

test('in its last minute a token is renewed once, while calls go on with it', async () => {
  const { tokens, logins, arrival, advance } = await tokensAt(login)
  await tokens.get(signal)
  advance(29 * MINUTE_MS + 30_000)

  const renewal = arrival()
  const during = await Promise.all(Array.from({ length: 40 }, () => tokens.get(signal)))
  await renewal

  expect(new Set(during)).toEqual(new Set(['token-1']))
  await expect.poll(() => tokens.get(signal)).toBe('token-2')
  expect(logins()).toBe(2)
})

test('a renewal ahead that fails hurts nobody while the old token lives', async () => {
  const { tokens, logins, arrival, advance } = await tokensAt((response, request, count) => {
    if (count === 2) json(response, {}, 500)
    else login(response, request, count)
  })
  await tokens.get(signal)
  advance(29 * MINUTE_MS + 30_000)

  const failed = arrival()
  expect(await tokens.get(signal)).toBe('token-1')
  await failed
  advance(MINUTE_MS)

  await expect.poll(() => tokens.get(signal).catch(() => null)).toBe('token-3')
  expect(logins()).toBe(3)
})

test('by a server whose clock is an hour behind, tokens are still used again', async () => {
  const { tokens, logins } = await tokensAt((response) => {
    response.setHeader('date', new Date(Date.now() - 60 * MINUTE_MS).toUTCString())
    json(response, { access_token: 'token', expires_at: Date.now() - 30 * MINUTE_MS })
  })

  for (let call = 0; call < 5; call++) await tokens.get(signal)

  expect(logins()).toBe(1)
})
