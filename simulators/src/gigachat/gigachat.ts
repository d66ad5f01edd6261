import type { SimulatorControl } from '../control/client.ts'
import { type ControlRoute, readBody } from '../control/routes.ts'
import { embed } from '../language/embedding.ts'
import { jsonAnswer, type WireAnswer } from '../wire/answer.ts'
import type { WireRequest } from '../wire/request.ts'
import { type Exchange, type ServerOptions, type Service, startServer } from '../wire/server.ts'
import { Balance } from './balance.ts'
import { readChatRequest } from './chat-request.ts'
import { completionOf, streamAnswer, usageOf, wholeAnswer } from './completion.ts'
import { ApiError, OAuthError } from './errors.ts'
import { speak } from './model/speak.ts'
import { CHAT_MODELS, chatModel, embeddingDimensions, listModels, oneModel } from './models.ts'
import { OAuth } from './oauth.ts'
import { PromptCache } from './prompt-cache.ts'
import { DEFAULT_SETTINGS, type GigaChatSettings, settingsChange } from './settings.ts'
import { readEmbeddingsRequest, readTokensRequest } from './text-request.ts'
import { countTokens } from './tokens.ts'

/** The key that the simulator knows, as the real service hands it out: base64 of id and secret. */
const DEFAULT_CREDENTIALS = Buffer.from('simulator:secret-of-the-simulator').toString('base64')

export interface GigaChatOptions extends ServerOptions, Partial<GigaChatSettings> {
  readonly credentials?: string
  /** The scopes that the account has; all by default. */
  readonly scopes?: readonly string[]
}

export interface RunningGigaChat {
  readonly baseUrl: string
  readonly authUrl: string
  readonly url: string
  readonly credentials: string
  readonly control: SimulatorControl
  readonly close: () => Promise<void>
}

export async function startGigaChat(options: GigaChatOptions = {}): Promise<RunningGigaChat> {
  const { credentials = DEFAULT_CREDENTIALS } = options
  const server = await startServer(new GigaChatService(credentials, options), options)
  return {
    baseUrl: `${server.url}/api/v1`,
    authUrl: `${server.url}/api/v2/oauth`,
    url: server.url,
    credentials,
    control: server.control,
    close: server.close,
  }
}

class GigaChatService implements Service {
  readonly name = 'GigaChat simulator'
  readonly controlRoutes
  readonly #initial: GigaChatSettings
  readonly #oauth: OAuth
  readonly #balance = new Balance()
  #cache = new PromptCache()
  #settings: GigaChatSettings
  #running = 0

  constructor(credentials: string, options: GigaChatOptions) {
    this.#initial = settingsFrom(options)
    this.#settings = this.#initial
    this.#oauth = new OAuth(credentials, options.scopes, () => this.#settings)
    this.controlRoutes = this.#routes()
  }

  handle(request: WireRequest, exchange: Exchange): WireAnswer {
    const headers = echoed(request)
    try {
      return this.#answer(request, exchange, headers)
    } catch (error) {
      if (error instanceof ApiError) return error.toAnswer(headers)
      if (error instanceof OAuthError) return error.toAnswer()
      throw error
    }
  }

  reset(): void {
    this.#settings = this.#initial
    this.#cache = new PromptCache()
    this.#balance.refill()
  }

  #answer(request: WireRequest, exchange: Exchange, headers: Record<string, string>): WireAnswer {
    const route = `${request.method} ${request.path}`
    if (route === 'POST /api/v2/oauth') return this.#oauth.token(request, exchange)
    if (route === 'POST /api/v1/token') return this.#oauth.passwordToken(request, exchange)
    this.#oauth.check(request)
    switch (route) {
      case 'GET /api/v1/models':
        return jsonAnswer(200, listModels(), headers)
      case 'GET /api/v1/balance':
        return jsonAnswer(200, this.#balance.view(CHAT_MODELS, this.#settings.tokensLeft), headers)
      case 'POST /api/v1/chat/completions':
        return this.#complete(request, exchange, headers)
      case 'POST /api/v1/embeddings':
        return embeddings(request, exchange, headers)
      case 'POST /api/v1/tokens/count':
        return tokensCount(request, headers)
      default:
        return this.#oneModel(route, headers)
    }
  }

  #oneModel(route: string, headers: Record<string, string>): WireAnswer {
    const [, id] = /^GET \/api\/v1\/models\/([^/]+)$/.exec(route) ?? []
    if (id === undefined) throw new ApiError(404, 'Not Found')
    return jsonAnswer(200, oneModel(id), headers)
  }

  #complete(request: WireRequest, exchange: Exchange, headers: Record<string, string>): WireAnswer {
    const chat = readChatRequest(request)
    const model = chatModel(chat.model)
    const account = model.replace(/:.*$/, '')
    this.#balance.check(account, this.#settings.tokensLeft)
    if (this.#running >= this.#settings.parallelMax) throw new ApiError(429, 'Too many requests')
    this.#running += 1
    exchange.onEnd(() => {
      this.#running -= 1
    })
    const completion = completionOf(speak(chat), chat.max_tokens, exchange.plan)
    const promptTokens = chat.messages.reduce((sum, message) => sum + countTokens(message.content), 0)
    const precached = this.#cache.precachedTokens(request.headers['x-session-id'], chat.messages)
    const usage = usageOf(completion, promptTokens, precached)
    this.#balance.spend(account, usage.total_tokens)
    exchange.commit('completion', request.headers['x-request-id'] ?? null, {
      model,
      stream: chat.stream === true,
      finishReason: completion.finishReason,
      usage,
    })
    if (chat.stream !== true) return wholeAnswer(completion, model, usage, headers)
    return streamAnswer(completion, model, usage, { headers, pauseMs: this.#settings.chunkDelayMs })
  }

  #routes(): ControlRoute[] {
    return [
      {
        method: 'PUT',
        path: 'settings',
        handle: (_, request) => {
          const change = readBody(settingsChange, request)
          if (change.tokensLeft !== undefined) this.#balance.refill()
          this.#settings = settingsFrom(change, this.#settings)
          return jsonAnswer(200, this.#settings)
        },
      },
      {
        method: 'POST',
        path: 'tokens/expire',
        handle: () => {
          this.#oauth.expireAll()
          return jsonAnswer(200, { ok: true })
        },
      },
    ]
  }
}

function embeddings(request: WireRequest, exchange: Exchange, headers: Record<string, string>): WireAnswer {
  const { model, input } = readEmbeddingsRequest(request)
  const dimensions = embeddingDimensions(model)
  const data = input.map((text, index) => ({
    object: 'embedding',
    index,
    embedding: embed(text, dimensions),
    usage: { prompt_tokens: countTokens(text) },
  }))
  exchange.commit('embeddings', request.headers['x-request-id'] ?? null, { model, texts: input.length })
  return jsonAnswer(200, { object: 'list', model, data }, headers)
}

function tokensCount(request: WireRequest, headers: Record<string, string>): WireAnswer {
  const { model, input } = readTokensRequest(request)
  chatModel(model)
  const counts = input.map((text) => ({
    object: 'tokens',
    tokens: countTokens(text),
    characters: Array.from(text).length,
  }))
  return jsonAnswer(200, counts, headers)
}

function echoed({ headers }: WireRequest): Record<string, string> {
  const names = ['x-request-id', 'x-session-id'] as const
  return Object.fromEntries(names.flatMap((name) => (headers[name] === undefined ? [] : [[name, headers[name]]])))
}

type SettingsGiven = { readonly [K in keyof GigaChatSettings]?: GigaChatSettings[K] | undefined }

function settingsFrom(given: SettingsGiven, otherwise: GigaChatSettings = DEFAULT_SETTINGS): GigaChatSettings {
  return {
    chunkDelayMs: given.chunkDelayMs ?? otherwise.chunkDelayMs,
    tokenLifetimeMs: given.tokenLifetimeMs ?? otherwise.tokenLifetimeMs,
    parallelMax: given.parallelMax ?? otherwise.parallelMax,
    tokenRequestsPerSecond: given.tokenRequestsPerSecond ?? otherwise.tokenRequestsPerSecond,
    expiresAtUnit: given.expiresAtUnit ?? otherwise.expiresAtUnit,
    tokensLeft: given.tokensLeft ?? otherwise.tokensLeft,
  }
}
