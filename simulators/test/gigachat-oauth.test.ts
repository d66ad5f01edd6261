import { afterEach, expect, test } from 'vitest'
import { type GigaChatOptions, type RunningGigaChat, startGigaChat } from '../src/index.ts'
import { GigaChatClient, requestToken } from './gigachat-client.ts'

const running: RunningGigaChat[] = []

afterEach(async () => {
  for (const one of running.splice(0)) await one.close()
})

async function setup(options: GigaChatOptions = {}): Promise<RunningGigaChat> {
  const gigachat = await startGigaChat({ chunkDelayMs: 0, ...options })
  running.push(gigachat)
  return gigachat
}

test('a token comes with the milliseconds at which it expires, half an hour ahead', async () => {
  const gigachat = await setup()

  const answer = (await (await requestToken(gigachat)).json()) as { access_token: string; expires_at: number }

  expect(answer.access_token).not.toBe('')
  const aheadMs = answer.expires_at - Date.now()
  expect(aheadMs).toBeGreaterThan(29 * 60_000)
  expect(aheadMs).toBeLessThanOrEqual(30 * 60_000)
})

test('the expiry can be said in seconds, and the password flow says it so in other names', async () => {
  const gigachat = await setup({ expiresAtUnit: 's' })
  const inSeconds = (await (await requestToken(gigachat)).json()) as { expires_at: number }
  const byPassword = await fetch(`${gigachat.baseUrl}/token`, {
    method: 'POST',
    headers: { authorization: `Basic ${gigachat.credentials}` },
  })

  expect(inSeconds.expires_at).toBeLessThan(1e12)
  const { tok, exp } = (await byPassword.json()) as { tok: string; exp: number }
  expect(exp).toBeLessThan(1e12)
  const models = await fetch(`${gigachat.baseUrl}/models`, { headers: { authorization: `Bearer ${tok}` } })
  expect(models.status).toBe(200)
})

test.each([
  ['no RqUID', { headers: { rquid: '' } }, 400, 3],
  ['an RqUID that is no uuid4', { headers: { rquid: '0199e210-2f13-144c-8fe5-c9a19fe27db7' } }, 400, 3],
  ['an Authorization that is not Basic', { headers: { authorization: 'Bearer abc' } }, 400, 4],
  ['credentials of nobody', { headers: { authorization: `Basic ${btoa('other:secret')}` } }, 401, 6],
  ['no scope', { scope: '' }, 400, 5],
  ['a scope that does not exist', { scope: 'GIGACHAT_API_FREE' }, 400, 1],
  ['a scope that the account has not', { scope: 'GIGACHAT_API_CORP' }, 400, 7],
])('a token request with %s is refused with its code', async (_, change, status, code) => {
  const gigachat = await setup({ scopes: ['GIGACHAT_API_PERS'] })

  const answer = await requestToken(gigachat, change)

  expect(answer.status).toBe(status)
  expect(await answer.json()).toMatchObject({ code })
})

test('the eleventh token request of a second is too many', async () => {
  const gigachat = await setup()

  const answers = await Promise.all(Array.from({ length: 11 }, () => requestToken(gigachat)))

  expect(answers.filter(({ status }) => status === 200)).toHaveLength(10)
  expect(answers.filter(({ status }) => status === 429)).toHaveLength(1)
  expect((await gigachat.control.ledger()).committed).toHaveLength(10)
})

test('an unknown token and an expired one are refused in their own words', async () => {
  const gigachat = await setup()
  const client = await GigaChatClient.start(gigachat)
  await gigachat.control.call('POST', 'tokens/expire')

  const expired = await client.chat('Привет')
  client.token = 'made-up'
  const unknown = await client.chat('Привет')
  await client.authorise()
  const fresh = await client.chat('Привет')

  expect(await expired.json()).toEqual({ status: 401, message: 'Token has expired' })
  expect(await unknown.json()).toEqual({ status: 401, message: 'Unauthorized' })
  expect(fresh.status).toBe(200)
})

test('the lifetime of the next tokens can be changed while it runs', async () => {
  const gigachat = await setup()
  await gigachat.control.call('PUT', 'settings', { tokenLifetimeMs: 0 })
  const client = await GigaChatClient.start(gigachat)

  expect((await client.chat('Привет')).status).toBe(401)
})

test('the ledger shows neither credentials nor tokens', async () => {
  const gigachat = await setup()
  const client = await GigaChatClient.start(gigachat)
  await client.chat('Привет')

  const ledger = JSON.stringify(await gigachat.control.ledger())

  expect(ledger).not.toContain(gigachat.credentials)
  expect(ledger).not.toContain(client.token)
})
