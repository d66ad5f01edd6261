import { createServer as createHttpServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { getRequestListener } from '@hono/node-server'
import type { Logger } from 'foothold'
import { checkToken } from './access.ts'
import { errorLogger } from './error-logger.ts'
import { type FetchApp, guardedApp } from './guarded-app.ts'
import { checkListenAddress, listenError, urlOf } from './listen-address.ts'
import { createServer } from './server.ts'
import type { ServerOptions } from './server-options.ts'

interface ListenOptions {
  /** Default 127.0.0.1. Anything but loopback needs a token. */
  readonly host?: string | undefined
  /** Default 0: any free one, see `url`. */
  readonly port?: number | undefined
  /** How long answers under way may take after `close()`. Default 5,000. */
  readonly graceMs?: number | undefined
}

/** An application with routes of its own, into which `createServer()` is mounted. */
export interface AppOptions extends ListenOptions {
  readonly app: FetchApp
  /** Every request to the whole application must bear it, /healthz and /readyz excepted. */
  readonly token?: string | undefined
  /** The application checks its callers itself: it may listen on any address without a token here. */
  readonly checksCallers?: boolean | undefined
  readonly logger?: Logger | 'silent' | undefined
}

export type ServeOptions = (ServerOptions & ListenOptions & { readonly app?: undefined }) | AppOptions

export interface Listening {
  /** Where it listens, for example http://127.0.0.1:4400. */
  readonly url: string
  readonly port: number
  /**
   * Accepts nothing more, ends event streams with a hint to come back, lets other answers finish within the grace, then
   * cuts what is left. Safe to call twice.
   */
  close(): Promise<void>
}

const GRACE_MS = 5_000
/** Longer than the 60 s of common load balancers: whoever closes an idle connection first must not be us. */
const KEEP_ALIVE_TIMEOUT_MS = 65_000
const IDLE_LOOK_MS = 20

export async function serve(options: ServeOptions): Promise<Listening> {
  const { host = '127.0.0.1', port = 0, graceMs = GRACE_MS, token } = options
  if (token !== undefined) checkToken(token)
  const isGuarded = token !== undefined || (options.app !== undefined && options.checksCallers === true)
  checkListenAddress(host, isGuarded)
  const app = appOf(options)
  const callersAreChecked = isGuarded && options.app !== undefined
  const stopping = new AbortController()
  const listener = getRequestListener(
    (request, bindings) => app.fetch(request, { ...bindings, stopping: stopping.signal, callersAreChecked }),
    // Replacing the process's global Request is not a library's business.
    { overrideGlobalObjects: false },
  )
  const server = createHttpServer({ keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS }, (incoming, outgoing) => {
    // The listener answers its own errors.
    void listener(incoming, outgoing)
  })
  await listen(server, host, port)
  const bound = (server.address() as AddressInfo).port
  let closing: Promise<void> | null = null
  return {
    url: urlOf(host, bound),
    port: bound,
    close() {
      closing ??= closeServer(server, stopping, graceMs)
      return closing
    },
  }
}

function appOf(options: ServeOptions): FetchApp {
  if (options.app === undefined) return createServer(options)
  const { app, token, logger } = options
  return token === undefined ? app : guardedApp(app, token, errorLogger(logger))
}

function listen(server: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => reject(listenError(error, host, port)))
    server.listen(port, host, () => {
      server.removeAllListeners('error')
      resolve()
    })
  })
}

async function closeServer(server: Server, stopping: AbortController, graceMs: number): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()))
  stopping.abort()
  // A connection whose last answer ends after close() began stays open, idle, until somebody looks.
  const looking = setInterval(() => server.closeIdleConnections(), IDLE_LOOK_MS)
  const cutting = setTimeout(() => server.closeAllConnections(), graceMs)
  server.closeIdleConnections()
  await closed
  clearInterval(looking)
  clearTimeout(cutting)
}
