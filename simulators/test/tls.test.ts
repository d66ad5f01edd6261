import { request } from 'node:https'
import { expect, test } from 'vitest'
import { startGigaChat } from '../src/index.ts'
import { selfSigned } from './self-signed.ts'

test('behind a private certificate a client needs that authority, and the control does not', async () => {
  const tls = selfSigned()
  const gigachat = await startGigaChat({ tls })
  try {
    expect(gigachat.url).toMatch(/^https:/)
    await expect(fetch(`${gigachat.baseUrl}/models`)).rejects.toThrow('fetch failed')
    expect(await statusOf(`${gigachat.baseUrl}/models`, tls.cert)).toBe(401)
    expect((await gigachat.control.waitForLedger({ ended: 1 })).received).toHaveLength(1)
  } finally {
    await gigachat.close()
  }
})

function statusOf(url: string, ca: string): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    request(url, { ca, agent: false }, (response) => {
      response.resume()
      response.on('end', () => resolve(response.statusCode))
    })
      .on('error', reject)
      .end()
  })
}
