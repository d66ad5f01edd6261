import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

/** A way to PostgreSQL that can be made to swallow everything. */
export interface Network {
  readonly url: string
  /** From now on no byte passes, and nobody is told. */
  swallow(): void
  /** New connections pass again. */
  release(): void
  close(): void
}

export async function openNetwork(targetUrl: string): Promise<Network> {
  const target = new URL(targetUrl)
  const sockets = new Set<Socket>()
  let isSwallowing = false
  const server = createServer((client) => {
    const upstream = connect(Number(target.port), target.hostname)
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(from)
      from.on('error', () => undefined)
      from.on('data', (data) => {
        if (!isSwallowing) to.write(data)
      })
      from.on('close', () => {
        sockets.delete(from)
        if (!isSwallowing) to.destroy()
      })
    }
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = new URL(targetUrl)
  url.hostname = '127.0.0.1'
  url.port = String((server.address() as AddressInfo).port)
  const cut = (): void => {
    for (const socket of sockets) socket.destroy()
  }
  return {
    url: url.href,
    swallow: () => {
      isSwallowing = true
    },
    release: () => {
      isSwallowing = false
      cut()
    },
    close: () => {
      cut()
      server.close()
    },
  }
}
