import { z } from 'zod'
import type { SimulatorControl } from '../control/client.ts'
import { type ControlRoute, readBody } from '../control/routes.ts'
import { MANAGERS } from '../crm/seed.ts'
import { jsonAnswer, type WireAnswer } from '../wire/answer.ts'
import type { WireRequest } from '../wire/request.ts'
import { type Exchange, type ServerOptions, type Service, startServer } from '../wire/server.ts'
import { Chats } from './chats.ts'
import { BotApiError } from './errors.ts'
import { METHODS } from './methods.ts'
import { SendRate } from './send-rate.ts'

/** The bot that the simulator knows; another token is refused as the real service does. */
const DEFAULT_TOKEN = '7000000001:simulator-of-telegram'
/** The chat for what belongs to no manager; the managers of the simulated CRM have chats as well. */
const DEFAULT_CHAT_ID = '700100100'

export interface TelegramOptions extends ServerOptions {
  readonly token?: string
  /** Chats that exist besides the default one and the managers' of the simulated CRM. */
  readonly chatIds?: readonly string[]
  /** The real limit is about 1; null, the default, is none. */
  readonly messagesPerSecondPerChat?: number | null
}

export interface RunningTelegram {
  /** What comes before /bot<token>/sendMessage. */
  readonly apiRoot: string
  readonly url: string
  readonly token: string
  readonly defaultChatId: string
  readonly control: SimulatorControl
  readonly close: () => Promise<void>
}

export async function startTelegram(options: TelegramOptions = {}): Promise<RunningTelegram> {
  const { token = DEFAULT_TOKEN, chatIds = [], messagesPerSecondPerChat = null } = options
  const known = [DEFAULT_CHAT_ID, ...MANAGERS.map((manager) => manager.telegramChatId), ...chatIds]
  const rate = messagesPerSecondPerChat === null ? null : new SendRate(messagesPerSecondPerChat)
  const server = await startServer(new TelegramService(token, new Chats(known), rate), options)
  return {
    apiRoot: server.url,
    url: server.url,
    token,
    defaultChatId: DEFAULT_CHAT_ID,
    control: server.control,
    close: server.close,
  }
}

class TelegramService implements Service {
  readonly name = 'Telegram simulator'
  readonly secretInPath = /(?<=^\/bot)[^/]+/
  readonly controlRoutes
  readonly #token: string
  readonly #chats: Chats
  readonly #rate: SendRate | null

  constructor(token: string, chats: Chats, rate: SendRate | null) {
    this.#token = token
    this.#chats = chats
    this.#rate = rate
    this.controlRoutes = chatRoutes(chats)
  }

  handle(request: WireRequest, exchange: Exchange): WireAnswer {
    try {
      return jsonAnswer(200, { ok: true, result: this.#call(request, exchange) })
    } catch (error) {
      if (error instanceof BotApiError) return error.toAnswer()
      throw error
    }
  }

  reset(): void {
    this.#chats.reset()
  }

  #call(request: WireRequest, exchange: Exchange): unknown {
    const [, token, name = ''] = /^\/bot([^/]+)\/(\w+)$/.exec(request.path) ?? []
    if (token === undefined) throw new BotApiError(404, 'Not Found')
    if (token !== this.#token) throw new BotApiError(401, 'Unauthorized')
    const method = METHODS[name.toLowerCase()]
    if (method === undefined) throw new BotApiError(404, 'Not Found: method not found')
    return method({ chats: this.#chats, parameters: parametersOf(request), exchange, rate: this.#rate })
  }
}

function parametersOf({ body, query }: WireRequest): Readonly<Record<string, unknown>> {
  if (body.kind === 'broken') throw new BotApiError(400, `Bad Request: can't parse JSON object`)
  const given = body.kind !== 'none' && typeof body.value === 'object' && body.value !== null ? body.value : {}
  return { ...Object.fromEntries(query), ...given }
}

const chatId = z.string().regex(/^-?\d{1,19}$/, 'must be digits')
const chatChange = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('open') }),
  z.strictObject({ kind: z.literal('blocked') }),
  z.strictObject({ kind: z.literal('migrated'), toChatId: chatId }),
])

function chatRoutes(chats: Chats): ControlRoute[] {
  return [
    { method: 'GET', path: 'chats', handle: () => jsonAnswer(200, { chats: chats.list() }) },
    {
      method: 'PUT',
      path: 'chats/:id',
      handle: ({ id = '' }, request) => {
        const state = readBody(chatChange, request)
        if (!chatId.safeParse(id).success) return jsonAnswer(400, { error: `chat id "${id}" must be digits` })
        chats.put(id, state)
        return jsonAnswer(200, { chatId: id, state })
      },
    },
    {
      method: 'DELETE',
      path: 'chats/:id',
      handle: ({ id = '' }) =>
        chats.remove(id) ? jsonAnswer(200, { ok: true }) : jsonAnswer(404, { error: `no chat ${id}` }),
    },
    { method: 'GET', path: 'messages', handle: () => jsonAnswer(200, { messages: chats.messages() }) },
  ]
}
