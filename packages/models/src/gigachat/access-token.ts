import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { RetryError, TerminalError } from 'foothold'
import { bodyText } from '../wire/body.ts'
import { linkSignals, untilAborted } from '../wire/linked-signal.ts'
import { retryAfterMs } from '../wire/retry-after.ts'
import type { Connection } from './connection.ts'
import { connectionError } from './connection-error.ts'
import { refusalOf } from './refusal.ts'

/**
 * The access token of one set of credentials.
 * 1. At most one token request is under way, however many calls wait (the login allows ten a second, for everyone).
 * 2. Within the last minute of its life a token is renewed in the background while calls go on with it.
 * 3. A 429 of the login is waited for here: it costs no task a try, unless it lasts.
 */
export interface AccessTokens {
  get(signal: AbortSignal): Promise<string>
  /** The API answered 401 to this token: never give it out again. */
  refuse(token: string): void
}

interface NewToken {
  readonly value: string
  readonly lifetimeMs: number
}

interface HeldToken {
  readonly value: string
  readonly renewAtMs: number
  readonly expiresAtMs: number
}

const RENEW_EARLY_MS = 60_000
/** When the renewal ahead fails, the old token still works: no need to hurry. */
const RENEW_PAUSE_MS = 5_000
/** Waits between its requests included. */
const LOGIN_TIMEOUT_MS = 30_000
const WAIT_FOR_LOGIN_MS = 20_000
const WAIT_DEFAULT_MS = 1_000
const WAIT_MIN_MS = 500
const WAIT_SPREAD = 0.2
/** For an expiry that makes no sense, such as one in the past by a wrong clock: a third of the usual half hour. */
const LIFETIME_FALLBACK_MS = 600_000
const BODY_BYTES_MAX = 65_536

export function accessTokens(options: {
  readonly authUrl: string
  readonly credentials: string
  readonly scope: string
  readonly connection: Connection
  /** Monotonic: a wall clock that jumps would make tokens immortal. */
  readonly nowMs?: () => number
}): AccessTokens {
  const { connection, nowMs = () => performance.now() } = options
  let held: HeldToken | null = null
  let renewal: Promise<HeldToken> | null = null
  let renewAheadFromMs = 0

  function renew(): Promise<HeldToken> {
    renewal ??= login(options)
      .then(({ value, lifetimeMs }) => {
        const now = nowMs()
        const earlyMs = Math.min(RENEW_EARLY_MS, lifetimeMs / 2)
        held = { value, renewAtMs: now + lifetimeMs - earlyMs, expiresAtMs: now + lifetimeMs }
        return held
      })
      .finally(() => {
        renewal = null
      })
    return renewal
  }

  return {
    async get(signal) {
      const now = nowMs()
      if (held === null || now >= held.expiresAtMs) return (await untilAborted(renew(), signal)).value
      if (now >= held.renewAtMs && now >= renewAheadFromMs && !connection.closing.aborted) {
        renew().catch(() => {
          renewAheadFromMs = nowMs() + RENEW_PAUSE_MS
        })
      }
      return held.value
    },
    refuse(token) {
      if (held?.value === token) held = null
    },
  }
}

async function login(options: Parameters<typeof accessTokens>[0]): Promise<NewToken> {
  const { authUrl, credentials, scope, connection } = options
  const link = linkSignals(connection.closing)
  const request = {
    method: 'POST',
    headers: {
      authorization: `Basic ${credentials}`,
      'content-type': 'application/x-www-form-urlencoded',
      accept: 'application/json',
    },
    body: new URLSearchParams({ scope }).toString(),
    signal: link.signal,
  } as const
  const host = new URL(authUrl).host
  const timer = setTimeout(() => {
    const message = `GigaChat: the login at ${host} did not answer within ${LOGIN_TIMEOUT_MS / 1000} s.`
    link.abort(new RetryError(message, { reason: 'llm_unavailable' }))
  }, LOGIN_TIMEOUT_MS)
  try {
    for (let waitedMs = 0; ; ) {
      const response = await connection.fetch(authUrl, {
        ...request,
        headers: { ...request.headers, rquid: randomUUID() },
      })
      if (response.status !== 429) return await tokenOf(response, credentials, host)
      const askedMs = retryAfterMs(response.headers) ?? WAIT_DEFAULT_MS
      // Spread: the other processes were told the same second.
      const waitMs = Math.max(askedMs, WAIT_MIN_MS) * (1 + WAIT_SPREAD * Math.random())
      if (waitedMs + waitMs > WAIT_FOR_LOGIN_MS) throw await refusalOf(response, [credentials])
      await response.body?.cancel()
      await sleep(waitMs, undefined, { signal: link.signal })
      waitedMs += waitMs
    }
  } catch (error) {
    throw link.signal.aborted ? link.signal.reason : connectionError(error, host)
  } finally {
    clearTimeout(timer)
    link.unlink()
  }
}

async function tokenOf(response: Response, credentials: string, host: string): Promise<NewToken> {
  if (!response.ok) throw wrongCredentials(await refusalOf(response, [credentials]), response.status)
  const text = await bodyText(response, BODY_BYTES_MAX)
  const token = text === null ? null : readToken(text, Date.parse(response.headers.get('date') ?? ''))
  if (token === null) {
    throw new RetryError(`GigaChat: the login at ${host} answered without a token.`, { reason: 'llm_unavailable' })
  }
  return token
}

/** Here no token is old: what the login refuses stays refused until a person changes the settings. */
function wrongCredentials(error: Error, status: number): Error {
  if (status !== 400 && status !== 401 && status !== 403) return error
  const said = error.message.replace(' (with a fresh token)', '').replace('GigaChat', 'GigaChat login')
  return new TerminalError(`${said}; check credentials (GIGACHAT_CREDENTIALS) and scope (GIGACHAT_SCOPE).`, {
    reason: 'llm_unauthorized',
  })
}

/** `{access_token, expires_at}` in milliseconds or seconds, or `{tok, exp}` in seconds. */
function readToken(text: string, serverNowMs: number): NewToken | null {
  let body: { access_token?: unknown; expires_at?: unknown; tok?: unknown; exp?: unknown } | null
  try {
    body = JSON.parse(text) as typeof body
  } catch {
    return null
  }
  const value = body?.access_token ?? body?.tok
  if (typeof value !== 'string' || !/^[\x21-\x7E]+$/.test(value)) return null
  const expiry = Number(body?.expires_at ?? body?.exp)
  const expiryMs = expiry < 1e12 ? expiry * 1000 : expiry
  const claimedMs = expiryMs - (Number.isNaN(serverNowMs) ? Date.now() : serverNowMs)
  return { value, lifetimeMs: claimedMs > 0 ? claimedMs : LIFETIME_FALLBACK_MS }
}
