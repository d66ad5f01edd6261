import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'

/** A request as it arrived on a real socket. `aborted` settles when the client goes away before the answer's end. */
export interface Received {
  readonly path: string
  readonly headers: IncomingMessage['headers']
  readonly body: string
  readonly json: Record<string, unknown>
  readonly aborted: Promise<void>
}
export type Route = (response: ServerResponse, request: Received, count: number) => unknown

export interface WireServer {
  readonly url: string
  readonly received: readonly Received[]
  to(path: string): readonly Received[]
  /** The next request of a path, when it has arrived. */
  arrival(path: string): Promise<Received>
  /** Ever accepted. */
  readonly connections: number
}

/** Plays a peer byte by byte; ends with the test. */
export async function wireServer(
  routes: Readonly<Record<string, Route>>,
  tls?: { readonly key: string; readonly cert: string },
): Promise<WireServer> {
  const received: Received[] = []
  const waiting: { path: string; resolve: (request: Received) => void }[] = []
  let connections = 0
  const listener = async (message: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = await bodyOf(message)
    const path = message.url ?? ''
    const aborted = new Promise<void>((resolve) => {
      response.on('close', () => {
        if (!response.writableFinished) resolve()
      })
    })
    const request = { path, headers: message.headers, body, json: jsonOf(body), aborted }
    received.push(request)
    for (const wait of waiting.splice(0)) {
      if (wait.path === path) wait.resolve(request)
      else waiting.push(wait)
    }
    const route = routes[path]
    if (route === undefined) response.writeHead(404).end()
    else await route(response, request, received.filter((one) => one.path === path).length)
  }
  const onRequest = (message: IncomingMessage, response: ServerResponse): void => {
    listener(message, response).catch((error: unknown) => response.destroy(error as Error))
  }
  const server = tls === undefined ? createServer(onRequest) : createTlsServer(tls, onRequest)
  server.on(tls === undefined ? 'connection' : 'secureConnection', () => {
    connections++
  })
  server.on('tlsClientError', () => undefined)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(
    () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  )
  return {
    url: `${tls === undefined ? 'http' : 'https'}://127.0.0.1:${(server.address() as AddressInfo).port}`,
    received,
    get connections() {
      return connections
    },
    to: (path) => received.filter((request) => request.path === path),
    arrival: (path) => new Promise((resolve) => waiting.push({ path, resolve })),
  }
}

async function bodyOf(message: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of message) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString('utf8')
}

function jsonOf(body: string): Record<string, unknown> {
  try {
    return JSON.parse(body) as Record<string, unknown>
  } catch {
    return {}
  }
}
