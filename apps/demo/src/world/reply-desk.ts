import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'

/** Where answers reach clients: keeps what it delivered, and delivers once per Idempotency-Key. */
export interface ReplyDesk {
  readonly url: string
  /** The request of each reply that went out, in order: its ledger. */
  readonly delivered: readonly string[]
  close(): Promise<void>
}

/** From the delivery to the answer: long enough that workers die in between. */
const ANSWER_DELAY_MS = 250
const BODY_BYTES_MAX = 64 * 1024

export async function openReplyDesk(): Promise<ReplyDesk> {
  const delivered: string[] = []
  const keys = new Set<string>()
  const server = createServer((request, response) => {
    readBody(request).then(
      (body) => {
        const key = request.headers['idempotency-key']
        const isRepeated = typeof key === 'string' && keys.has(key)
        if (typeof key === 'string') keys.add(key)
        if (!isRepeated) delivered.push(String((body as { readonly requestId?: unknown }).requestId))
        setTimeout(() => response.writeHead(200, { 'content-type': 'application/json' }).end('{}'), ANSWER_DELAY_MS)
      },
      () => response.writeHead(400).end('{}'),
    )
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(0, '127.0.0.1', resolve)
  })
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/replies`,
    delivered,
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

async function readBody(request: IncomingMessage): Promise<unknown> {
  let text = ''
  for await (const chunk of request) {
    text += String(chunk)
    if (text.length > BODY_BYTES_MAX) throw new Error('too large')
  }
  return JSON.parse(text)
}
