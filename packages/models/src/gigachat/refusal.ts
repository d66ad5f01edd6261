import { ReasonedError, RetryError, TerminalError } from 'foothold'
import { bodyText } from '../wire/body.ts'
import { parseJson } from '../wire/json.ts'
import { retryAfterMs } from '../wire/retry-after.ts'

/** An error's body is a line of JSON, or a gateway's page that nobody wants to read. */
const BODY_BYTES_MAX = 65_536
const MESSAGE_CHARACTERS_MAX = 300

/** Decides what an HTTP status other than 2xx means for the step. `said`: the server's words, already made safe. */
export function refusal(status: number, said: string | null, afterMs: number | null): Error {
  const words = `GigaChat answered ${status}${said === null ? '' : `: ${said}`}`
  switch (status) {
    case 429:
      return new RetryError(words, { reason: 'llm_rate_limited', afterMs: afterMs ?? 0 })
    case 401:
      return new RetryError(`${words} (with a fresh token)`, { reason: 'llm_unauthorized' })
    case 402:
      return new TerminalError(`${words}: the tokens ran out, buy more and resume the task`, { reason: 'llm_refused' })
    case 404:
      return new TerminalError(`${words}: check the model's name and the base URL`, { reason: 'llm_refused' })
    case 408:
    case 425:
      return new RetryError(words, { reason: 'llm_unavailable', afterMs: afterMs ?? 0 })
    default:
  }
  if (status < 400) {
    return new TerminalError(`${words}, which no call expects: check the base URL`, { reason: 'llm_refused' })
  }
  if (status < 500) return new TerminalError(words, { reason: 'llm_refused' })
  // Only a server that names a time surely did nothing.
  return afterMs === null
    ? new ReasonedError(words, { reason: 'llm_unavailable' })
    : new RetryError(words, { reason: 'llm_unavailable', afterMs })
}

export async function refusalOf(response: Response, secrets: readonly string[]): Promise<Error> {
  const said = await messageOf(response)
  return refusal(response.status, said === null ? null : safeText(said, secrets), retryAfterMs(response.headers))
}

async function messageOf(response: Response): Promise<string | null> {
  try {
    const text = await bodyText(response, BODY_BYTES_MAX)
    const body = text === null ? null : (parseJson(text) as { message?: unknown } | null)
    return typeof body?.message === 'string' ? body.message : null
  } catch {
    // A page of HTML, or a body that broke off: the status says enough.
    return null
  }
}

/** A server's words may echo what we sent; they end up in logs, in the database and on a screen. */
export function safeText(text: string, secrets: readonly string[]): string {
  let safe = text
  for (const secret of secrets) if (secret !== '') safe = safe.replaceAll(secret, '[secret]')
  // oxlint-disable-next-line no-control-regex -- control characters are what is taken out
  safe = safe.replace(/[\u0000-\u001F\u007F]+/g, ' ').trim()
  return safe.length > MESSAGE_CHARACTERS_MAX ? `${safe.slice(0, MESSAGE_CHARACTERS_MAX)}…` : safe
}
