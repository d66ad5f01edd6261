import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { request } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { startGigaChat } from '../src/index.ts'

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

function selfSigned(): { key: string; cert: string } {
  const folder = mkdtempSync(join(tmpdir(), 'simulator-tls-'))
  try {
    const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')]
    const subject = ['-subj', '/CN=127.0.0.1', '-addext', 'subjectAltName=IP:127.0.0.1']
    const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes']
    execFileSync('openssl', ['req', '-x509', ...newKey, '-keyout', key, '-out', cert, ...subject], { stdio: 'ignore' })
    return { key: readFileSync(key, 'utf8'), cert: readFileSync(cert, 'utf8') }
  } finally {
    rmSync(folder, { recursive: true })
  }
}
