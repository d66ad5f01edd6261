import { TerminalError } from 'foothold'
import { expect, onTestFinished, test, vi } from 'vitest'
import { testAuthority } from './certificate.ts'
import { CHAT, read, setup, sse, streamOf } from './gigachat-peer.ts'
import { wireServer } from './wire-server.ts'

const chat = { [CHAT]: (response: Parameters<typeof sse>[0]) => sse(response).end(streamOf('Привет')) }

test.each([
  ['text', (pem: string) => pem],
  ['bytes', (pem: string) => Buffer.from(pem)],
])('with its authority as %s both the login and the API are reached', async (_form, form) => {
  const authority = testAuthority('Частный корень')
  const { client } = await setup(chat, { ca: form(authority.ca) }, authority)

  expect(await read(client)).toMatchObject({ error: null, text: 'Привет' })
})

test('an unknown authority stops the task at once and says which setting is missing', async () => {
  const { client, peer } = await setup(chat, {}, testAuthority('Частный корень'))

  const { error } = await read(client)

  expect(error).toBeInstanceOf(TerminalError)
  expect((error as Error).message).toBe(
    `GigaChat: unknown certificate authority for host ${new URL(peer.url).host}; set the \`ca\` option (GIGACHAT_CA_FILE).`,
  )
  expect(peer.received).toEqual([])
})

test('the authority of another client does not help, nor one of the same name', async () => {
  const authority = testAuthority('Частный корень')
  const { client } = await setup(chat, { ca: testAuthority('Частный корень').ca }, authority)

  expect((await read(client)).error).toBeInstanceOf(TerminalError)
})

test('verification stays on even when the environment turns it off for the process', async () => {
  vi.stubEnv('NODE_TLS_REJECT_UNAUTHORIZED', '0')
  onTestFinished(() => {
    vi.unstubAllEnvs()
  })
  const { client, peer } = await setup(chat, {}, testAuthority('Частный корень'))

  expect((await read(client)).error).toBeInstanceOf(TerminalError)
  expect(peer.received).toEqual([])
})

test('the rest of the process does not trust the authority of a client', async () => {
  const authority = testAuthority('Частный корень')
  await setup(chat, { ca: authority.ca }, authority)
  const other = await wireServer({ '/': (response) => response.end('да') }, authority)

  await expect(fetch(`${other.url}/`)).rejects.toThrow('fetch failed')
})
