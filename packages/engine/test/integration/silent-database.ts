import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { onTestFinished } from 'vitest'

export interface SilentDatabase {
  readonly url: string
  /** Resolves when somebody has connected. */
  readonly asked: Promise<void>
  /** Resolves when whoever connected first has gone. */
  readonly left: Promise<void>
}

/** Takes connections and never says a word, as a server does that hangs, or a firewall that swallows packets. */
export async function startSilentDatabase(): Promise<SilentDatabase> {
  const sockets = new Set<Socket>()
  let [onAsked, onLeft] = [(): void => undefined, (): void => undefined]
  const asked = new Promise<void>((resolve) => {
    onAsked = resolve
  })
  const left = new Promise<void>((resolve) => {
    onLeft = resolve
  })
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => undefined)
    // Read, else its end is never heard of.
    socket.on('data', () => onAsked())
    socket.on('close', () => onLeft())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return { url: `postgres://u@127.0.0.1:${(server.address() as AddressInfo).port}/x`, asked, left }
}
