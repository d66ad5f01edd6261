import { ReasonedError, RetryError } from 'foothold'

/** One POST, never repeated here, whose error says what the outcome can be, and holds neither address nor secret. */

export interface PostAnswer {
  readonly status: number
  /** Parsed; null when it is no JSON. */
  readonly body: unknown
  readonly retryAfterMs: number | null
}

const NEVER_CONNECTED = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
])

const REASON = 'alert_unavailable'

export async function postJson(
  service: string,
  url: string,
  body: unknown,
  { headers = {}, signal }: { readonly headers?: Readonly<Record<string, string>>; readonly signal: AbortSignal },
): Promise<PostAnswer> {
  try {
    const response = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
      redirect: 'manual',
      signal,
    })
    const text = await response.text()
    return {
      status: response.status,
      body: jsonOrNull(text),
      retryAfterMs: secondsOf(response.headers.get('retry-after')),
    }
  } catch (error) {
    const code = codeOf(error)
    const message = `${service} did not answer (${code})`
    if (NEVER_CONNECTED.has(code)) throw new RetryError(message, { reason: REASON })
    throw new ReasonedError(message, { reason: REASON })
  }
}

/** The code alone: messages of network errors carry addresses, and those carry tokens. */
function codeOf(error: unknown): string {
  const cause = error instanceof Error && error.cause !== undefined ? error.cause : error
  const [first] = cause instanceof AggregateError ? (cause.errors as unknown[]) : [cause]
  const { code, name } = (first ?? {}) as { readonly code?: unknown; readonly name?: unknown }
  if (typeof code === 'string') return code
  return name === 'TimeoutError' || name === 'AbortError' ? 'timeout' : 'network error'
}

function secondsOf(header: string | null): number | null {
  return header !== null && /^\s*\d{1,9}\s*$/.test(header) ? Number(header) * 1_000 : null
}

function jsonOrNull(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return null
  }
}
