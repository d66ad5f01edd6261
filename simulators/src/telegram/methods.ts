import { scalarText } from '../wire/scalar.ts'
import type { Exchange } from '../wire/server.ts'
import type { Chats, Message } from './chats.ts'
import { BotApiError, badRequest, tooManyRequests } from './errors.ts'
import { type ParsedText, parseHtml } from './html.ts'
import { parseMarkdownV2 } from './markdown-v2.ts'
import type { SendRate } from './send-rate.ts'

export interface BotCall {
  readonly chats: Chats
  readonly parameters: Readonly<Record<string, unknown>>
  readonly exchange: Pick<Exchange, 'commit'>
  readonly rate: SendRate | null
}

const BOT = { id: 7_000_000_001, is_bot: true, first_name: 'Foothold', username: 'foothold_simulator_bot' }

// Counted in UTF-16 units after the entities are parsed.
const TEXT_MAX = 4096

export const METHODS: Readonly<Record<string, (call: BotCall) => unknown>> = {
  getme: () => ({ ...BOT, can_join_groups: true, can_read_all_group_messages: false, supports_inline_queries: false }),
  sendmessage: sendMessage,
  editmessagetext: editMessageText,
}

function sendMessage({ chats, parameters, exchange, rate }: BotCall): unknown {
  const chatId = openChat(chats, parameters)
  const { text, source } = readText(parameters)
  const retryAfter = rate?.retryAfter(chatId, Date.now()) ?? null
  if (retryAfter !== null) throw tooManyRequests(retryAfter)
  const message = chats.add(chatId, text, source)
  exchange.commit('telegram.message', chatId, { messageId: message.id, chatId, text, source })
  return messageView(message)
}

function editMessageText({ chats, parameters, exchange }: BotCall): unknown {
  const chatId = openChat(chats, parameters)
  const message = chats.message(chatId, scalarText(parameters.message_id))
  if (message === undefined) throw badRequest('message to edit not found')
  const { text, source } = readText(parameters)
  if (text === message.text && source === message.source) {
    throw badRequest(
      'message is not modified: specified new message content and reply markup are exactly the same as a current content and reply markup of the message',
    )
  }
  const edited = chats.edit(message, text, source)
  exchange.commit('telegram.edit', chatId, { messageId: message.id, chatId, text, source })
  return { ...messageView(edited), edit_date: Math.floor(Date.now() / 1000) }
}

function openChat(chats: Chats, parameters: BotCall['parameters']): string {
  const chatId = scalarText(parameters.chat_id)
  if (chatId === '') throw badRequest('chat_id is empty')
  const state = chats.state(chatId)
  if (state === undefined) throw badRequest('chat not found')
  switch (state.kind) {
    case 'open':
      return chatId
    case 'blocked':
      throw new BotApiError(403, 'Forbidden: bot was blocked by the user')
    case 'migrated':
      throw new BotApiError(400, 'Bad Request: group chat was upgraded to a supergroup chat', {
        migrate_to_chat_id: BigInt(state.toChatId),
      })
  }
}

function readText(parameters: BotCall['parameters']): { text: string; source: string } {
  const source = scalarText(parameters.text).replaceAll('\0', '')
  const parsed = parse(source, scalarText(parameters.parse_mode))
  if (parsed.kind === 'broken') throw badRequest(`can't parse entities: ${parsed.problem}`)
  const text = parsed.text.trim()
  if (text === '') throw badRequest('message text is empty')
  if (text.length > TEXT_MAX) throw badRequest('message is too long')
  return { text, source }
}

function parse(source: string, mode: string): ParsedText {
  switch (mode.toLowerCase()) {
    case '':
      return { kind: 'parsed', text: source }
    case 'html':
      return parseHtml(source)
    case 'markdownv2':
      return parseMarkdownV2(source)
    default:
      throw badRequest('unsupported parse_mode')
  }
}

function messageView(message: Message): Record<string, unknown> {
  return {
    message_id: message.id,
    from: BOT,
    // Ids pass 2^53 and travel as bare digits.
    chat: { id: BigInt(message.chatId), type: message.chatId.startsWith('-') ? 'supergroup' : 'private' },
    date: message.date,
    text: message.text,
  }
}
