import { once } from 'node:events'
import { type AddressInfo, connect as connectSocket, createServer, type Socket } from 'node:net'
import { connect } from '../foothold.ts'
import type { Agent } from '../protocol/agent.ts'
import type { Worker } from '../protocol/foothold.ts'

/** A worker of this process that can die: what it does reaches the database no more, from one moment to the next. */
export interface Life {
  readonly workerId: string
  /** Nothing it has not sent yet is ever carried out. */
  sever(): void
  /** Frees what it holds in this process. */
  bury(): Promise<void>
}

const HEARTBEAT_MS = 200
const LEASE_MS = 1_000

export async function beginLife(databaseUrl: string, agent: Agent): Promise<Life> {
  const line = await openLine(databaseUrl)
  const foothold = await connect(line.url, { migrate: false, logger: 'silent' })
  const worker: Worker = foothold.worker({ agents: [agent], heartbeatMs: HEARTBEAT_MS, leaseMs: LEASE_MS, graceMs: 0 })
  await worker.start()
  return {
    get workerId() {
      return worker.id
    },
    sever: () => line.cut(),
    async bury() {
      await foothold.close()
      line.cut()
    },
  }
}

/** The one way from a worker to its database. */
async function openLine(databaseUrl: string): Promise<{ readonly url: string; cut(): void }> {
  const target = new URL(databaseUrl)
  const sockets = new Set<Socket>()
  const server = createServer((client) => {
    const upstream = connectSocket(Number(target.port || 5432), target.hostname)
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(from)
      from.setNoDelay(true)
      from.on('error', () => undefined)
      from.on('data', (data) => to.write(data))
      from.on('close', () => {
        sockets.delete(from)
        to.destroy()
      })
    }
  })
  server.listen(0, '127.0.0.1')
  server.unref()
  await once(server, 'listening')
  const url = new URL(databaseUrl)
  url.hostname = '127.0.0.1'
  url.port = String((server.address() as AddressInfo).port)
  return {
    url: url.href,
    cut() {
      server.close()
      for (const socket of sockets) socket.destroy()
    },
  }
}
