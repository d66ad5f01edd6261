import { FootholdError, ReasonedError } from 'foothold'
import type { EmbeddingModel, LlmModel } from '../port.ts'
import { accessTokens } from './access-token.ts'
import { gigachatApi } from './api.ts'
import { gigachatModel } from './chat-model.ts'
import { openConnection } from './connection.ts'
import { gigachatEmbeddings } from './embeddings.ts'

export interface GigaChatOptions {
  /** The authorisation key of the project: base64 of `clientId:secret`, as the vendor's console shows it. */
  readonly credentials: string
  /** GIGACHAT_API_PERS (default), GIGACHAT_API_B2B or GIGACHAT_API_CORP. */
  readonly scope?: string | undefined
  readonly baseUrl?: string | undefined
  readonly authUrl?: string | undefined
  /** Default `GigaChat-2-Pro`. */
  readonly model?: string | undefined
  /** Default `Embeddings`. */
  readonly embeddingsModel?: string | undefined
  /** Needed for an embeddings model that this package does not know. */
  readonly embeddingsDimensions?: number | undefined
  /** A certificate authority in PEM form, trusted besides the public ones, by this client alone. */
  readonly ca?: string | Uint8Array | undefined
  /** Called instead of undici's fetch, with undici's `dispatcher` in its options. */
  readonly fetch?: typeof globalThis.fetch | undefined
  /** For calls that give none of their own. */
  readonly sessionId?: string | undefined
}

export interface GigaChat {
  readonly model: LlmModel
  readonly embeddings: EmbeddingModel
  /** How many tokens each text takes, as the provider counts. */
  countTokens(texts: readonly string[], options: { readonly signal: AbortSignal }): Promise<number[]>
  /** Ends what still runs and closes the sockets. */
  close(): Promise<void>
}

const BASE_URL = 'https://gigachat.devices.sberbank.ru/api/v1'
const AUTH_URL = 'https://ngw.devices.sberbank.ru:9443/api/v2/oauth'
const DIMENSIONS: Readonly<Record<string, number>> = { Embeddings: 1024, EmbeddingsGigaR: 2560 }
const COUNT_TIMEOUT_MS = 30_000

export function gigachat(options: GigaChatOptions): GigaChat {
  const { scope = 'GIGACHAT_API_PERS', model = 'GigaChat-2-Pro', embeddingsModel = 'Embeddings' } = options
  const credentials = checkedCredentials(options.credentials)
  const authUrl = checkedUrl('authUrl', options.authUrl ?? AUTH_URL)
  const baseUrl = checkedUrl('baseUrl', options.baseUrl ?? BASE_URL).replace(/\/+$/, '')
  const dimensions = options.embeddingsDimensions ?? DIMENSIONS[embeddingsModel]
  if (dimensions === undefined) {
    const known = Object.keys(DIMENSIONS).join(', ')
    throw invalid('embeddingsModel', `${embeddingsModel} is none of ${known}`, 'Pass embeddingsDimensions with it.')
  }
  const connection = openConnection(options)
  const tokens = accessTokens({ authUrl, credentials, scope, connection })
  const api = gigachatApi({ baseUrl, credentials, tokens, connection })
  return {
    model: gigachatModel({ api, model, sessionId: options.sessionId }),
    embeddings: gigachatEmbeddings({ api, model: embeddingsModel, dimensions }),
    async countTokens(texts, { signal }) {
      if (texts.length === 0) return []
      return readCounts(
        await api.json('/tokens/count', { model, input: texts }, { signal, timeoutMs: COUNT_TIMEOUT_MS }),
        texts.length,
      )
    },
    close: () => connection.close(),
  }
}

function readCounts(body: unknown, count: number): number[] {
  const counts = Array.isArray(body) ? body.map((item: { tokens?: unknown } | null) => item?.tokens) : []
  if (counts.length === count && counts.every((tokens) => typeof tokens === 'number')) return counts
  throw new ReasonedError(`GigaChat: ${counts.length} counts of tokens came for ${count} texts.`, {
    reason: 'llm_incomplete',
  })
}

/** The value itself is in no message: it is a secret. */
function checkedCredentials(value: unknown): string {
  const credentials = typeof value === 'string' ? value.trim().replace(/^Basic\s+/i, '') : ''
  if (/^[\x21-\x7E]+$/.test(credentials)) return credentials
  const problem =
    credentials === '' ? 'no value was given' : 'it contains spaces or characters that no header can carry'
  throw invalid(
    'credentials',
    problem,
    "Copy the authorisation key from the project's settings (GIGACHAT_CREDENTIALS).",
  )
}

function checkedUrl(field: string, value: string): string {
  const url = URL.canParse(value) ? new URL(value) : null
  if (url === null || !/^https?:$/.test(url.protocol)) throw invalid(field, 'it is not an http(s) address')
  if (url.username !== '' || url.password !== '') {
    throw invalid(field, 'it carries a name or password', 'Pass the key as credentials.')
  }
  return value
}

function invalid(option: string, problem: string, cure?: string): FootholdError {
  return new FootholdError('INVALID_ARGUMENT', {
    field: `gigachat.${option}`,
    problem,
    ...(cure === undefined ? {} : { cure }),
  })
}
