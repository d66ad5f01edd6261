import { randomUUID } from 'node:crypto'
import { jsonAnswer, type WireAnswer } from '../wire/answer.ts'
import type { WireRequest } from '../wire/request.ts'
import type { Exchange } from '../wire/server.ts'
import { ApiError, OAuthError } from './errors.ts'
import type { GigaChatSettings } from './settings.ts'

const SCOPES = ['GIGACHAT_API_PERS', 'GIGACHAT_API_B2B', 'GIGACHAT_API_CORP']
const UUID4 = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/i

/** Issues access tokens and knows which are good. */
export class OAuth {
  readonly #credentials: string
  readonly #scopes: readonly string[]
  readonly #settings: () => GigaChatSettings
  readonly #expiryOf = new Map<string, number>()
  #recentRequestsAt: number[] = []

  constructor(credentials: string, scopes: readonly string[] | undefined, settings: () => GigaChatSettings) {
    this.#credentials = credentials
    this.#scopes = scopes ?? SCOPES
    this.#settings = settings
  }

  /** POST /api/v2/oauth. */
  token(request: WireRequest, exchange: Pick<Exchange, 'commit'>): WireAnswer {
    this.#checkRate()
    const rqUid = request.headers.rquid ?? ''
    if (!UUID4.test(rqUid)) throw new OAuthError(400, 3, "'RqUID' header is missing or is not a uuid4")
    this.#checkCredentials(request)
    this.#checkScope(request)
    const { token, expiresAt } = this.#issue()
    exchange.commit('oauth.token', rqUid, { expiresAt })
    const unit = this.#settings().expiresAtUnit === 'ms' ? 1 : 1000
    return jsonAnswer(200, { access_token: token, expires_at: Math.floor(expiresAt / unit) })
  }

  /** POST /api/v1/token: the password flow of corporate stands answers in other names and in seconds. */
  passwordToken(request: WireRequest, exchange: Pick<Exchange, 'commit'>): WireAnswer {
    this.#checkRate()
    this.#checkCredentials(request)
    const { token, expiresAt } = this.#issue()
    exchange.commit('oauth.token', null, { expiresAt })
    return jsonAnswer(200, { tok: token, exp: Math.floor(expiresAt / 1000) })
  }

  /** Refuses a request of the API host without a good token. */
  check(request: WireRequest): void {
    const [, token = ''] = /^Bearer (.+)$/.exec(request.headers.authorization ?? '') ?? []
    const expiresAt = this.#expiryOf.get(token)
    if (expiresAt === undefined) throw new ApiError(401, 'Unauthorized')
    if (Date.now() >= expiresAt) throw new ApiError(401, 'Token has expired')
  }

  /** As if all tokens had reached the end of their life now. */
  expireAll(): void {
    for (const token of this.#expiryOf.keys()) this.#expiryOf.set(token, 0)
  }

  #issue(): { token: string; expiresAt: number } {
    const token = `simulated.${randomUUID()}`
    const expiresAt = Date.now() + this.#settings().tokenLifetimeMs
    this.#expiryOf.set(token, expiresAt)
    return { token, expiresAt }
  }

  #checkRate(): void {
    const now = Date.now()
    this.#recentRequestsAt = this.#recentRequestsAt.filter((at) => now - at < 1000)
    if (this.#recentRequestsAt.length >= this.#settings().tokenRequestsPerSecond) {
      throw new ApiError(429, 'Too many requests')
    }
    this.#recentRequestsAt.push(now)
  }

  #checkCredentials(request: WireRequest): void {
    const [, credentials] = /^Basic ([A-Za-z0-9+/=_-]+)$/.exec(request.headers.authorization ?? '') ?? []
    if (credentials === undefined || !Buffer.from(credentials, 'base64').toString().includes(':')) {
      throw new OAuthError(400, 4, "Can't decode 'Authorization' header")
    }
    if (credentials !== this.#credentials) throw new OAuthError(401, 6, "credentials doesn't match db data")
  }

  #checkScope({ body }: WireRequest): void {
    const scope = body.kind === 'form' ? (body.value.scope ?? '') : ''
    if (scope === '') throw new OAuthError(400, 5, 'scope is empty')
    if (!SCOPES.includes(scope)) throw new OAuthError(400, 1, 'scope data format invalid')
    if (!this.#scopes.includes(scope)) throw new OAuthError(400, 7, 'scope from db not fully includes consumed scope')
  }
}
