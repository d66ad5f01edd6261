import { createHash, timingSafeEqual } from 'node:crypto'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { FootholdError } from '../protocol/errors.ts'
import type { Exposition, OperationsOptions } from '../protocol/foothold.ts'
import { isLoopbackName } from './loopback.ts'

/**
 * What a platform and Prometheus ask of a worker that has no server of its own.
 *
 * - /healthz: the event loop turns. It never asks the database: restarting a worker repairs no database.
 * - /readyz: the worker takes tasks. False while it starts and drains, and when its heartbeats are not confirmed.
 * - /metrics: for whoever bears the token; without a token for this machine alone.
 *
 * The probes say nothing that is worth hiding and come from platforms that bear nothing: they are open.
 */
export interface OperationsPort {
  readonly url: string
  close(): Promise<void>
}

export interface OperationsAnswers {
  /** Null: ready; else why not. */
  notReady(): string | null
  exposition(): Promise<Exposition>
}

interface Answer {
  readonly status: number
  readonly text: string
  readonly contentType?: string
  readonly headers?: Readonly<Record<string, string>>
}

const HOST = '127.0.0.1'

/** Throws INVALID_ARGUMENT, before anything is opened. */
export function checkOperations({ port, host = HOST, token }: OperationsOptions): void {
  if (!Number.isInteger(port) || port < 0 || port > 65_535) {
    throw refused('port', `${String(port)} is not a whole number from 0 to 65535`)
  }
  if (token !== undefined && !/^[\x21-\x7e]+$/.test(token)) {
    const problem = token === '' ? 'it is empty' : 'it contains spaces or characters outside of ASCII'
    throw refused('token', problem, 'Use a long random one, for example from `openssl rand -hex 32`.')
  }
  if (token === undefined && !isLoopbackName(host)) {
    throw refused(
      'host',
      `${JSON.stringify(host)} can be reached from other machines, and no token is set`,
      'Set `operations.token` (for example from `openssl rand -hex 32`), or listen on 127.0.0.1.',
    )
  }
}

export async function openOperationsPort(
  options: OperationsOptions,
  answers: OperationsAnswers,
): Promise<OperationsPort> {
  const { port, host = HOST, token = null } = options
  const server = createServer((request, response) => {
    answerTo(request, token, answers).then(
      (answer) => send(response, request, answer),
      // What it could say is in the log of whoever failed.
      () => send(response, request, { status: 500, text: 'the metrics could not be collected\n' }),
    )
  })
  await listen(server, host, port)
  const bound = (server.address() as AddressInfo).port
  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${bound}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

async function answerTo(request: IncomingMessage, token: string | null, answers: OperationsAnswers): Promise<Answer> {
  const path = (request.url ?? '/').split('?', 1)[0]
  if (path !== '/healthz' && path !== '/readyz' && path !== '/metrics') {
    return { status: 404, text: 'here are /healthz, /readyz and /metrics\n' }
  }
  if (request.method !== 'GET' && request.method !== 'HEAD') {
    return { status: 405, text: 'GET only\n', headers: { allow: 'GET, HEAD' } }
  }
  switch (path) {
    case '/healthz':
      return { status: 200, text: 'ok\n' }
    case '/readyz': {
      const problem = answers.notReady()
      return problem === null ? { status: 200, text: 'ready\n' } : { status: 503, text: `${problem}\n` }
    }
    case '/metrics': {
      const refusal = refusalOf(request, token)
      if (refusal !== null) return refusal
      const { contentType, text } = await answers.exposition()
      return { status: 200, text, contentType }
    }
  }
}

/** Without a token only this machine reaches the port; a page in its browser, under a rebound name, is none of ours. */
function refusalOf({ headers }: IncomingMessage, token: string | null): Answer | null {
  if (token === null) {
    const name = (headers.host ?? '').replace(/:\d+$/, '')
    return isLoopbackName(name) ? null : { status: 403, text: 'without a token only loopback names are served\n' }
  }
  const given = /^Bearer +(\S+) *$/i.exec(headers.authorization ?? '')?.[1]
  if (given !== undefined && timingSafeEqual(digestOf(given), digestOf(token))) return null
  return {
    status: 401,
    text: 'send the header `Authorization: Bearer <token>`\n',
    headers: { 'www-authenticate': 'Bearer realm="foothold"' },
  }
}

/** Of one length: neither length nor prefix of the secret leaks. */
function digestOf(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}

function send(response: ServerResponse, { method }: IncomingMessage, answer: Answer): void {
  const { status, text, contentType = 'text/plain; charset=utf-8', headers = {} } = answer
  response.writeHead(status, { 'content-type': contentType, 'cache-control': 'no-store', ...headers })
  response.end(method === 'HEAD' ? undefined : text)
}

function listen(server: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === undefined) return reject(error)
      const taken = error.code === 'EADDRINUSE' ? 'is taken by another process' : `cannot be used (${error.code})`
      reject(refused('port', `${port} on ${host} ${taken}`, 'Use another port, or 0 for any free one.', error))
    })
    server.listen(port, host, () => {
      server.removeAllListeners('error')
      // A socket that failed has nobody left to be told.
      server.on('error', () => undefined)
      // The worker keeps its process, this port does not.
      server.unref()
      resolve()
    })
  })
}

function refused(option: keyof OperationsOptions, problem: string, cure?: string, cause?: Error): FootholdError {
  const details = { field: `operations.${option}`, problem, ...(cure === undefined ? {} : { cure }) }
  return new FootholdError('INVALID_ARGUMENT', details, cause === undefined ? {} : { cause })
}
