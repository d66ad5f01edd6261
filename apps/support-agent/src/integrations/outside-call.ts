import { type Reason, ReasonedError, RetryError } from 'foothold'

/** One request, never repeated here: repetition is the engine's, which knows what may be repeated. */
export interface OutsideCall {
  /** For people; holds no secret, unlike the address. */
  readonly service: string
  readonly unavailable: Reason
  readonly url: string
  readonly method: 'GET' | 'POST'
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
  readonly signal: AbortSignal
}

export interface OutsideAnswer {
  readonly status: number
  readonly text: string
  /** By the Retry-After header, seconds or a date. */
  readonly retryAfterMs: number | null
}

/** An answer larger than this is no answer of an API. */
const ANSWER_CHARACTERS_MAX = 10_000_000

/** Throws RetryError where no connection was made (surely nothing happened), ReasonedError where nobody can know. */
export async function callOutside({ service, unavailable, url, signal, ...init }: OutsideCall): Promise<OutsideAnswer> {
  let response: Response
  try {
    response = await fetch(url, { ...init, signal, redirect: 'manual' })
  } catch (error) {
    signal.throwIfAborted()
    const code = codeOf(error)
    const message = `${service} did not answer (${code})`
    if (NEVER_CONNECTED.has(code)) throw new RetryError(message, { reason: unavailable })
    throw new ReasonedError(message, { reason: unavailable })
  }
  try {
    const text = await response.text()
    return {
      status: response.status,
      text: text.slice(0, ANSWER_CHARACTERS_MAX),
      retryAfterMs: retryAfterMs(response.headers.get('retry-after')),
    }
  } catch (error) {
    signal.throwIfAborted()
    throw new ReasonedError(`${service} broke off its answer (${codeOf(error)})`, { reason: unavailable })
  }
}

const NEVER_CONNECTED = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
])

/** The code alone: messages of network errors may carry addresses, and those carry tokens. */
function codeOf(error: unknown): string {
  const cause = error instanceof Error && error.cause !== undefined ? error.cause : error
  const [first] = cause instanceof AggregateError ? (cause.errors as unknown[]) : [cause]
  const code = (first as { readonly code?: unknown } | undefined)?.code
  return typeof code === 'string' ? code : 'network error'
}

export function retryAfterMs(header: string | null, nowMs: number = Date.now()): number | null {
  if (header === null) return null
  if (/^\s*\d{1,9}\s*$/.test(header)) return Number(header) * 1_000
  const at = Date.parse(header)
  return Number.isNaN(at) ? null : Math.max(0, at - nowMs)
}
