import { setMaxListeners } from 'node:events'
import { createSecureContext, rootCertificates } from 'node:tls'
import { FootholdError, isFootholdError, ReasonedError } from 'foothold'
import { Agent, fetch as undiciFetch } from 'undici'
import { connectionError } from './connection-error.ts'

/** A last resort below every limit that callers set: so long may a server stay silent before or within an answer. */
const SILENCE_MAX_MS = 600_000

export interface WireRequest {
  readonly method: 'GET' | 'POST'
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string | undefined
  readonly signal: AbortSignal
}

/** One client's sockets, with its own trust: other clients of the process are not affected by its `ca`. */
export interface Connection {
  /** One request, sent once. What fetch throws comes out as an error with a reason. */
  fetch(url: string, request: WireRequest): Promise<Response>
  /** Aborts when the client is closed. */
  readonly closing: AbortSignal
  close(): Promise<void>
}

export function openConnection(options: {
  readonly ca?: string | Uint8Array | undefined
  readonly fetch?: typeof globalThis.fetch | undefined
}): Connection {
  const { ca } = options
  const agent = new Agent({
    connect: {
      // Said aloud, so that NODE_TLS_REJECT_UNAUTHORIZED=0 cannot hand the credentials to anybody.
      rejectUnauthorized: true,
      ...(ca === undefined ? {} : { secureContext: trusting(ca) }),
    },
    headersTimeout: SILENCE_MAX_MS,
    bodyTimeout: SILENCE_MAX_MS,
  })
  // undici's own fetch by default: the one inside Node may be another major than the agent.
  const send = options.fetch ?? (undiciFetch as unknown as typeof globalThis.fetch)
  const closing = new AbortController()
  // Every call under way listens: how many is the worker's business, not a leak.
  setMaxListeners(0, closing.signal)
  return {
    closing: closing.signal,
    async fetch(url, { method, headers, body, signal }) {
      signal.throwIfAborted()
      const init = {
        method,
        headers,
        signal,
        dispatcher: agent,
        redirect: 'manual',
        ...(body === undefined ? {} : { body }),
      }
      try {
        return await send(url, init as unknown as RequestInit)
      } catch (error) {
        if (signal.aborted) throw signal.reason
        throw connectionError(error, new URL(url).host)
      }
    },
    async close() {
      closing.abort(new ReasonedError('The GigaChat client was closed.', { reason: 'llm_unavailable' }))
      await agent.destroy()
    },
  }
}

/** The given authority besides the public ones: the login and the API may stand behind different ones. */
function trusting(ca: string | Uint8Array): ReturnType<typeof createSecureContext> {
  const pem = typeof ca === 'string' ? ca : Buffer.from(ca).toString('latin1')
  try {
    if (!pem.includes('-----BEGIN CERTIFICATE-----')) throw new Error('no certificate in it')
    return createSecureContext({ ca: [...rootCertificates, pem] })
  } catch (cause) {
    const details = {
      field: 'gigachat.ca',
      problem: 'it is not a certificate in PEM form',
      cure: 'Pass the contents of the file, beginning with -----BEGIN CERTIFICATE-----, not its path.',
    }
    throw isFootholdError(cause) ? cause : new FootholdError('INVALID_ARGUMENT', details, { cause })
  }
}
