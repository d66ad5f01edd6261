import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

/** Stands between a client and PostgreSQL and loses one answer: the moment at which nobody knows what has happened. */
export interface CuttingProxy extends AsyncDisposable {
  readonly url: string
  /** How many connections were cut. */
  readonly cuts: number
  /**
   * Cuts the connection on which the next statement with this text in it is sent: `before` the server gets it, or `after`
   * it was carried out, instead of its answer.
   */
  cutNext(text: string, when: 'before' | 'after'): void
}

export async function startCuttingProxy(targetUrl: string): Promise<CuttingProxy> {
  const target = new URL(targetUrl)
  const sockets = new Set<Socket>()
  let armed: { text: string; when: 'before' | 'after' } | null = null
  let cuts = 0

  const server = createServer((client) => {
    const upstream = connect(Number(target.port), target.hostname)
    let isCutting = false
    const cut = (): void => {
      cuts += 1
      client.destroy()
      upstream.destroy()
    }
    client.on('data', (data) => {
      if (armed !== null && data.includes(armed.text)) {
        const { when } = armed
        armed = null
        if (when === 'before') return cut()
        isCutting = true
      }
      upstream.write(data)
    })
    upstream.on('data', (data) => {
      if (isCutting) cut()
      else client.write(data)
    })
    for (const [socket, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(socket)
      socket.on('error', () => {})
      socket.on('close', () => {
        sockets.delete(socket)
        other.destroy()
      })
    }
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = new URL(targetUrl)
  url.hostname = '127.0.0.1'
  url.port = String((server.address() as AddressInfo).port)

  return {
    url: url.href,
    get cuts() {
      return cuts
    },
    cutNext(text, when) {
      armed = { text, when }
    },
    async [Symbol.asyncDispose]() {
      server.close()
      for (const socket of sockets) socket.destroy()
      await once(server, 'close')
    },
  }
}
