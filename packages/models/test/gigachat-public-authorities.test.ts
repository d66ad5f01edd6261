import { expect, test, vi } from 'vitest'
import { CHAT, login, OAUTH, read, setup, sse, streamOf } from './gigachat-peer.ts'
import { wireServer } from './wire-server.ts'

const { publicAuthority, privateAuthority } = await vi.hoisted(async () => {
  const { testAuthority } = await import('./certificate.ts')
  return { publicAuthority: testAuthority('Общий корень'), privateAuthority: testAuthority('Частный корень') }
})
// Node's own list, for this file one authority long: the real ones sign nothing for loopback.
vi.mock('node:tls', async (original) => ({
  ...(await original<typeof import('node:tls')>()),
  rootCertificates: [publicAuthority.ca],
}))

test('a private authority is trusted besides the public ones: the login may stand behind one, the API behind another', async () => {
  const api = await wireServer({ [CHAT]: (response) => sse(response).end(streamOf('Привет')) }, publicAuthority)
  const { client, peer } = await setup(
    { [OAUTH]: login },
    { ca: privateAuthority.ca, baseUrl: `${api.url}/api/v1` },
    privateAuthority,
  )

  expect(await read(client)).toMatchObject({ error: null, text: 'Привет' })
  expect(peer.to(OAUTH)).toHaveLength(1)
  expect(api.to(CHAT)).toHaveLength(1)
})
