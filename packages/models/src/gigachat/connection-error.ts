import { isFootholdError, ReasonedError, RetryError, TerminalError } from 'foothold'

const UNKNOWN_AUTHORITY = new Set([
  'SELF_SIGNED_CERT_IN_CHAIN',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'CERT_UNTRUSTED',
  // An authority of the same name with another key.
  'CERT_SIGNATURE_FAILURE',
])
/** Bytes that are not UTF-8, or an event without an end (event-stream.ts). */
const SPOILED = new Set(['ERR_ENCODING_INVALID_ENCODED_DATA', 'EVENT_TOO_LONG'])
/** The request never left: the receiver surely did nothing. */
const NEVER_CONNECTED = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'ENETUNREACH',
  'EHOSTUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
])

/** What fetch or a body's reader threw, as the error a step is retried or stopped by. */
export function connectionError(error: unknown, host: string): Error {
  if (isAuthorError(error)) return error
  const code = codeOf(error)
  if (code !== null && UNKNOWN_AUTHORITY.has(code)) {
    return new TerminalError(
      `GigaChat: unknown certificate authority for host ${host}; set the \`ca\` option (GIGACHAT_CA_FILE).`,
      { reason: 'llm_refused', cause: error },
    )
  }
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID') {
    return new TerminalError(`GigaChat: the certificate of ${host} is for another host; check the URL.`, {
      reason: 'llm_refused',
      cause: error,
    })
  }
  if (code !== null && SPOILED.has(code)) {
    return new ReasonedError(`GigaChat: ${host} sent something that is not its protocol (${code}).`, {
      reason: 'llm_incomplete',
      cause: error,
    })
  }
  const options = { reason: 'llm_unavailable', cause: error }
  if (code !== null && NEVER_CONNECTED.has(code)) {
    return new RetryError(`GigaChat: no connection to ${host} (${code}).`, options)
  }
  return new ReasonedError(`GigaChat: the connection to ${host} broke (${code ?? nameOf(error)}).`, options)
}

function isAuthorError(error: unknown): error is Error {
  return isFootholdError(error) || (error instanceof Error && '~foothold.failure' in error)
}

/** fetch says only "fetch failed": the code is in a cause, or in one of several for a host with several addresses. */
function codeOf(error: unknown): string | null {
  let current: unknown = error
  for (let depth = 0; depth < 5 && typeof current === 'object' && current !== null; depth++) {
    const { code, cause, errors } = current as { code?: unknown; cause?: unknown; errors?: unknown }
    if (typeof code === 'string') return code
    current = cause ?? (Array.isArray(errors) ? errors[0] : undefined)
  }
  return null
}

function nameOf(error: unknown): string {
  return error instanceof Error ? error.name : typeof error
}
