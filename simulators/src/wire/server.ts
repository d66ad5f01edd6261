// The one HTTP server under every simulated service: it keeps the ledger, applies faults and gates around the
// service's own code, and sends what that code decided. The order for one request is: received, faults taken, gate
// "before", the service acts and commits, gate "after_commit", the answer (gate "mid_stream" inside a stream).

import { createServer as createHttpServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { createServer as createHttpsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { controlBy, type SimulatorControl } from '../control/client.ts'
import { type FaultPlan, Faults } from '../control/faults.ts'
import { Gates } from '../control/gates.ts'
import { Ledger } from '../control/ledger.ts'
import { type ControlRoute, handleControl, isControlPath } from '../control/routes.ts'
import { jsonAnswer, type WireAnswer } from './answer.ts'
import { pauseUnlessGone } from './pause.ts'
import { readRequest, type WireRequest } from './request.ts'
import { sendAnswer } from './sender.ts'

export interface ServerOptions {
  /** 0, the default, takes a free port. */
  readonly port?: number
  /** Serves HTTPS with this key and certificate, for tests of private authorities. */
  readonly tls?: { readonly key: string; readonly cert: string }
}

/** What the service's code may know and do while it handles one request. */
export interface Exchange {
  readonly plan: FaultPlan
  readonly clientGone: AbortSignal
  /** Writes into the ledger that something was done in the service. */
  commit(kind: string, key: string | null, value: unknown): void
  /** Runs when the answer is out or given up, whichever way. */
  onEnd(callback: () => void): void
}

export interface Service {
  /** Named in errors, for example "GigaChat simulator". */
  readonly name: string
  /** What in a path is a secret, so that the ledger does not show it. */
  readonly secretInPath?: RegExp
  handle(request: WireRequest, exchange: Exchange): WireAnswer | Promise<WireAnswer>
  /** The service's own routes under /_sim. */
  readonly controlRoutes: readonly ControlRoute[]
  /** Back to the state that it started with. */
  reset(): void
}

export interface RunningServer {
  readonly url: string
  readonly control: SimulatorControl
  readonly close: () => Promise<void>
}

export async function startServer(service: Service, options: ServerOptions = {}): Promise<RunningServer> {
  const simulation = { service, ledger: new Ledger(), faults: new Faults(), gates: new Gates() }
  const listener = (incoming: IncomingMessage, response: ServerResponse): void => {
    handle(simulation, incoming, response).catch((error: unknown) => {
      // Only a defect of the simulator itself comes here; a broken connection tells the client more than silence.
      console.error(`${service.name}:`, error)
      response.destroy()
    })
  }
  const server = options.tls ? createHttpsServer(options.tls, listener) : createHttpServer(listener)
  // Faults hold requests as long as a test likes.
  server.requestTimeout = 0
  const port = await listen(server, service.name, options.port ?? 0)
  return {
    url: `${options.tls ? 'https' : 'http'}://127.0.0.1:${port}`,
    control: controlBy((method, path, body) => controlDirectly(simulation, method, path, body)),
    close: async () => {
      simulation.gates.openAll()
      server.closeAllConnections()
      await new Promise<void>((resolve) => server.close(() => resolve()))
    },
  }
}

/** Without a socket, so that a private certificate or a fault of the wire is not in the way. */
async function controlDirectly(
  simulation: Simulation,
  method: string,
  path: string,
  body: unknown,
): Promise<{ status: number; text: string }> {
  const url = new URL(`/_sim/${path}`, 'http://simulator')
  const answer = await handleControl(simulation, {
    method,
    path: decodeURIComponent(url.pathname),
    query: url.searchParams,
    headers: {},
    text: '',
    body: body === undefined ? { kind: 'none' } : { kind: 'json', value: structuredClone(body) },
  })
  if (answer.kind === 'events') throw new Error('control routes answer with one document')
  return { status: answer.status, text: answer.body }
}

interface Simulation {
  readonly service: Service
  readonly ledger: Ledger
  readonly faults: Faults
  readonly gates: Gates
}

async function handle(simulation: Simulation, incoming: IncomingMessage, response: ServerResponse): Promise<void> {
  const clientGone = goneSignal(response)
  const request = await readRequest(incoming)
  if (request === 'broken_off') return
  if (request === 'too_large') {
    response.writeHead(413, { connection: 'close' }).end()
    return
  }
  if (isControlPath(request.path)) {
    const answer = await handleControl(simulation, request)
    await sendAnswer(answer, { response, plan: {}, clientGone, afterEvent: async () => {} })
    return
  }
  await exchange(simulation, request, response, clientGone)
}

async function exchange(
  { service, ledger, faults, gates }: Simulation,
  request: WireRequest,
  response: ServerResponse,
  clientGone: AbortSignal,
): Promise<void> {
  const { plan, ids } = faults.take(request)
  const seq = ledger.receive(withoutSecret(request, service.secretInPath), ids)
  const atEnd: (() => void)[] = []

  await gates.pass('before', request, clientGone)
  if (plan.reset !== undefined) {
    ledger.answer(seq, { state: 'reset' })
    response.socket?.resetAndDestroy()
    return
  }
  const answer =
    plan.answer === undefined
      ? await service.handle(request, {
          plan,
          clientGone,
          commit: (kind, key, value) => ledger.commit(seq, kind, key, value),
          onEnd: (callback) => atEnd.push(callback),
        })
      : faultAnswer(plan.answer)
  ledger.answer(seq, { status: answer.kind === 'whole' ? answer.status : 200 })
  await gates.pass('after_commit', request, clientGone)

  try {
    if (plan.drop_after_commit !== undefined) {
      response.socket?.destroy()
      ledger.answer(seq, { state: 'dropped' })
      return
    }
    if (plan.delay !== undefined) await pauseUnlessGone(plan.delay.firstByteMs, clientGone)
    if (clientGone.aborted) {
      ledger.answer(seq, { state: 'aborted' })
      return
    }
    const afterEvent = (eventsSent: number): Promise<void> => gates.pass('mid_stream', request, clientGone, eventsSent)
    ledger.answer(seq, await sendAnswer(answer, { response, plan, clientGone, afterEvent }))
  } finally {
    for (const callback of atEnd) callback()
  }
}

function withoutSecret(request: WireRequest, secret: RegExp | undefined): WireRequest {
  return secret === undefined ? request : { ...request, path: request.path.replace(secret, '***') }
}

function faultAnswer(fault: NonNullable<FaultPlan['answer']>): WireAnswer {
  const { status, headers = {}, body = '' } = fault
  if (typeof body !== 'string') return jsonAnswer(status, body, headers)
  return { kind: 'whole', status, headers: { 'content-type': 'text/html; charset=utf-8', ...headers }, body }
}

function goneSignal(response: ServerResponse): AbortSignal {
  const controller = new AbortController()
  response.once('close', () => {
    if (!response.writableFinished) controller.abort()
  })
  return controller.signal
}

async function listen(server: Server, name: string, port: number): Promise<number> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      const cure =
        error.code === 'EADDRINUSE' ? `port ${port} is taken; give another, or 0 for a free one` : error.message
      reject(new Error(`${name} cannot listen on 127.0.0.1: ${cure}`, { cause: error }))
    })
    server.listen(port, '127.0.0.1', () => resolve())
  })
  return (server.address() as AddressInfo).port
}
