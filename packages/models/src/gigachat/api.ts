import { randomUUID } from 'node:crypto'
import { FootholdError, ReasonedError } from 'foothold'
import { bodyText } from '../wire/body.ts'
import { parseJson, toJson } from '../wire/json.ts'
import { linkSignals } from '../wire/linked-signal.ts'
import type { AccessTokens } from './access-token.ts'
import type { Connection } from './connection.ts'
import { connectionError } from './connection-error.ts'
import { refusalOf } from './refusal.ts'

/** 64 vectors of 2,560 numbers take about 4 MB as text; no answer of this API is longer by nature. */
const ANSWER_BYTES_MAX = 32 * 1024 * 1024

export interface ApiCall {
  readonly body: unknown
  readonly accept: 'application/json' | 'text/event-stream'
  readonly sessionId?: string | undefined
  readonly signal: AbortSignal
}

/** Authorised requests to the API. */
export interface Api {
  readonly host: string
  /** A 2xx response with its body unread, or an error with a reason. */
  post(path: string, call: ApiCall): Promise<Response>
  /** The same for short calls: reads the JSON, within `timeoutMs` in all. */
  json(
    path: string,
    body: unknown,
    options: { readonly signal: AbortSignal; readonly timeoutMs: number },
  ): Promise<unknown>
  readonly closing: AbortSignal
}

export function gigachatApi(options: {
  readonly baseUrl: string
  readonly credentials: string
  readonly tokens: AccessTokens
  readonly connection: Connection
}): Api {
  const { baseUrl, credentials, tokens, connection } = options
  const { host } = new URL(baseUrl)

  async function send(path: string, call: ApiCall, token: string): Promise<Response> {
    return connection.fetch(`${baseUrl}${path}`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${token}`,
        'content-type': 'application/json',
        accept: call.accept,
        'x-request-id': randomUUID(),
        ...(call.sessionId === undefined ? {} : { 'x-session-id': headerValue(call.sessionId) }),
      },
      body: toJson(call.body),
      signal: call.signal,
    })
  }

  async function post(path: string, call: ApiCall): Promise<Response> {
    let token = await tokens.get(call.signal)
    let response = await send(path, call, token)
    if (response.status === 401) {
      // The token died early, or the clock jumped: once more with a new one.
      await response.body?.cancel()
      tokens.refuse(token)
      token = await tokens.get(call.signal)
      response = await send(path, call, token)
      if (response.status === 401) tokens.refuse(token)
    }
    if (!response.ok) throw await refusalOf(response, [credentials, token])
    return response
  }

  return {
    host,
    closing: connection.closing,
    post,
    async json(path, body, { signal, timeoutMs }) {
      const link = linkSignals(signal, connection.closing)
      const timer = setTimeout(() => {
        const message = `GigaChat: no answer from ${host}${path} within ${timeoutMs / 1000} s.`
        link.abort(new ReasonedError(message, { reason: 'llm_unavailable' }))
      }, timeoutMs)
      try {
        const response = await post(path, { body, accept: 'application/json', signal: link.signal })
        return await readJson(response, `${host}${path}`)
      } catch (error) {
        throw link.signal.aborted ? link.signal.reason : connectionError(error, host)
      } finally {
        clearTimeout(timer)
        link.unlink()
      }
    },
  }
}

export async function readJson(response: Response, from: string): Promise<unknown> {
  const text = await bodyText(response, ANSWER_BYTES_MAX)
  if (text === null) {
    throw new ReasonedError(`GigaChat: ${from} answered with more than ${ANSWER_BYTES_MAX} bytes.`, {
      reason: 'llm_incomplete',
    })
  }
  try {
    return parseJson(text)
  } catch (cause) {
    throw new ReasonedError(`GigaChat: ${from} answered ${response.status} with text that is not JSON.`, {
      reason: 'llm_incomplete',
      cause,
    })
  }
}

function headerValue(sessionId: string): string {
  if (/^[\x21-\x7E]{1,128}$/.test(sessionId)) return sessionId
  throw new FootholdError('INVALID_ARGUMENT', {
    field: 'sessionId',
    problem: 'it is not 1 to 128 printable ASCII characters',
    cure: "Use the task's id.",
  })
}
