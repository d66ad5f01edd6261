import { lookup as lookupName } from 'node:dns'
import http from 'node:http'
import https from 'node:https'
import { ReasonedError, RetryError, TerminalError } from 'foothold'
import type { Callbacks } from '../ports.ts'
import { addressProblem, type ReplyPolicy, replyToProblem } from '../reply-address.ts'
import { retryAfterMs } from './outside-call.ts'

/**
 * Posts replies to addresses that come from requests, so from strangers. The address is judged where the connection is
 * made, on what the name resolves to at that moment: a check before would be outlived by the next DNS answer. Redirects
 * are not followed, and nothing of the answer is used but its status.
 */
export function callbacks(policy: ReplyPolicy): Callbacks {
  return {
    async post(url, body, idempotencyKey, signal) {
      const problem = replyToProblem(url, policy)
      if (problem !== null) throw new TerminalError(`replyTo ${problem}`, { reason: 'reply_rejected' })
      const answer = await post(url, JSON.stringify(body), idempotencyKey, policy, signal)
      if (answer.status >= 200 && answer.status < 300) return { status: answer.status }
      throw failureOf(answer)
    },
  }
}

const BODY_PATIENCE_MS = 2_000

interface PostAnswer {
  readonly status: number
  readonly retryAfterMs: number | null
}

function post(
  url: string,
  body: string,
  idempotencyKey: string,
  policy: ReplyPolicy,
  signal: AbortSignal,
): Promise<PostAnswer> {
  return new Promise((resolve, reject) => {
    const { request } = url.startsWith('https:') ? https : http
    const headers = {
      'content-type': 'application/json; charset=utf-8',
      'content-length': Buffer.byteLength(body),
      'idempotency-key': idempotencyKey,
      'user-agent': 'foothold-support-agent',
    }
    // No agent: a kept connection would skip the look-up, and with it the check.
    const sent = request(url, { method: 'POST', headers, signal, agent: false, lookup: guardedLookup(policy) })
    sent.on('response', (response) => {
      // The status is all that counts; a body without an end must not hold the socket.
      response.resume()
      setTimeout(() => response.destroy(), BODY_PATIENCE_MS).unref()
      resolve({ status: response.statusCode ?? 0, retryAfterMs: retryAfterMs(response.headers['retry-after'] ?? null) })
    })
    sent.on('error', (error) => reject(signal.aborted ? (signal.reason as Error) : connectionFailure(error)))
    sent.end(body)
  })
}

class ForbiddenAddress extends Error {}

type LookupFunction = NonNullable<http.RequestOptions['lookup']>

function guardedLookup(policy: ReplyPolicy): LookupFunction {
  return (hostname, options, callback) => {
    lookupName(hostname, { ...options, all: true }, (error, addresses) => {
      if (error !== null) return callback(error, [])
      // One forbidden answer spoils all: which one is connected to is not ours to choose.
      const problem = addresses.map(({ address }) => addressProblem(address, policy)).find((found) => found !== null)
      if (problem !== undefined) return callback(new ForbiddenAddress(`${hostname}: ${problem}`), [])
      const [first] = addresses
      if (options.all === true || first === undefined) return callback(null, addresses)
      return callback(null, first.address, first.family)
    })
  }
}

function connectionFailure(error: Error): Error {
  if (error instanceof ForbiddenAddress) {
    return new TerminalError(`replyTo must not be called: ${error.message}`, { reason: 'reply_rejected' })
  }
  const code = (error as { code?: unknown }).code
  const message = `the reply could not be delivered (${typeof code === 'string' ? code : 'network error'})`
  const isNeverConnected = typeof code === 'string' && NEVER_CONNECTED.has(code)
  return isNeverConnected
    ? new RetryError(message, { reason: 'reply_unavailable' })
    : new ReasonedError(message, { reason: 'reply_unavailable' })
}

const NEVER_CONNECTED = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH'])

function failureOf({ status, retryAfterMs }: PostAnswer): Error {
  const message = `the reply's receiver answered ${status}`
  if (status === 429 || (status === 503 && retryAfterMs !== null)) {
    return new RetryError(message, { reason: 'reply_unavailable', afterMs: retryAfterMs ?? undefined })
  }
  const isRefusal = status >= 300 && status < 500 && status !== 408 && status !== 425
  return isRefusal
    ? new TerminalError(message, { reason: 'reply_rejected' })
    : new ReasonedError(message, { reason: 'reply_unavailable' })
}
