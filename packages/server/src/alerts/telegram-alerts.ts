import { type AlertChannel, FootholdError, type MessageRef, ReasonedError, RetryError, TerminalError } from 'foothold'
import { type AlertText, alertText, htmlText, plainText } from './alert-text.ts'
import { type PostAnswer, postJson } from './post-json.ts'
import type { Language } from './words.ts'

export interface TelegramAlertsOptions {
  /** As @BotFather gives it. */
  readonly token: string
  /** The on-call chat: digits, with a minus for groups, or @channel. Use a chat of its own. */
  readonly chatId: string
  /** Default `en`. */
  readonly language?: Language | undefined
  /** Default https://api.telegram.org. */
  readonly apiRoot?: string | undefined
  /** Default `telegram`. Two chats need two names. */
  readonly name?: string | undefined
}

/** Counted in UTF-16 units after the entities are parsed. */
const TEXT_MAX = 4_096

/** A chat of the Bot API: one message for each group of dead letters, edited as it changes. */
export function telegramAlerts(options: TelegramAlertsOptions): AlertChannel {
  const { token, chatId, language = 'en', apiRoot = 'https://api.telegram.org', name = 'telegram' } = options
  if (!/^\d+:[A-Za-z0-9_-]+$/.test(token)) {
    throw refusal('token', 'it is no bot token', 'Copy it as @BotFather gives it: digits, a colon and letters.')
  }
  if (!/^(-?\d{1,19}|@\w{3,})$/.test(chatId)) {
    throw refusal('chatId', 'it is no chat id', 'Use digits, with a minus for groups, or @channel.')
  }
  const base = `${apiRoot.replace(/\/+$/, '')}/bot${token}/`

  async function say(method: string, target: object, text: AlertText, signal: AbortSignal): Promise<Answer> {
    const fitting = fitted(text)
    const common = { ...target, link_preview_options: { is_disabled: true } }
    const post = async (body: object): Promise<Answer> =>
      answerOf(await postJson('Telegram', `${base}${method}`, { ...common, ...body }, { signal }))
    const answer = await post({ text: htmlText(fitting), parse_mode: 'HTML' })
    // A flaw in our markup must not cost the alert.
    return /can't parse entities/i.test(answer.description) ? post({ text: plainText(fitting) }) : answer
  }

  async function send(chat: string, text: AlertText, signal: AbortSignal): Promise<MessageRef> {
    const answer = await say('sendMessage', { chat_id: chat }, text, signal)
    if (answer.movedToChatId !== null) return send(answer.movedToChatId, text, signal)
    if (answer.messageId !== null) return { chatId: chat, messageId: answer.messageId }
    throw failureOf(answer)
  }

  return {
    name,
    send: (message, { signal, mayBeRepeated }) => send(chatId, alertText(message, language, mayBeRepeated), signal),
    async update(ref, message, { signal }) {
      const text = alertText(message, language)
      const target = { chat_id: ref['chatId'], message_id: ref['messageId'] }
      const answer = await say('editMessageText', target, text, signal)
      // The messages of a group that became a supergroup are not to be edited under its new id.
      if (answer.movedToChatId !== null) return send(answer.movedToChatId, text, signal)
      if (answer.isOk || isShown(answer) || isGone(answer)) return ref
      throw failureOf(answer)
    },
  }
}

/** An edit whose answer was lost, made once more. */
function isShown({ description }: Answer): boolean {
  return /message is not modified/i.test(description)
}

/** Whoever deletes the message wants no more of it. */
function isGone({ description }: Answer): boolean {
  return /message to edit not found|message can't be edited|MESSAGE_ID_INVALID/i.test(description)
}

interface Answer {
  readonly status: number
  readonly isOk: boolean
  readonly description: string
  readonly messageId: number | null
  readonly pauseMs: number | null
  readonly movedToChatId: string | null
}

function answerOf({ status, body, retryAfterMs }: PostAnswer): Answer {
  const { ok, description, result, parameters } = record(body)
  const { message_id: messageId } = record(result)
  const { retry_after: pauseSeconds, migrate_to_chat_id: movedTo } = record(parameters)
  return {
    status,
    isOk: status === 200 && ok === true,
    description: typeof description === 'string' ? description : '',
    messageId: typeof messageId === 'number' ? messageId : null,
    pauseMs: typeof pauseSeconds === 'number' ? pauseSeconds * 1_000 : retryAfterMs,
    movedToChatId: typeof movedTo === 'number' || typeof movedTo === 'string' ? String(movedTo) : null,
  }
}

function record(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>) : {}
}

function failureOf({ status, description, pauseMs }: Answer): Error {
  const message = `Telegram answered ${status}${description === '' ? '' : ` (${description.slice(0, 200)})`}`
  if (status === 429) return new RetryError(message, { reason: 'alert_unavailable', afterMs: pauseMs ?? 1_000 })
  if (status >= 400 && status < 500) return new TerminalError(message, { reason: 'alert_rejected' })
  return new ReasonedError(message, { reason: 'alert_unavailable' })
}

/** What is least urgent stands last and goes first; the commands and the tag stay. */
function fitted(text: AlertText): AlertText {
  let lines = text.lines
  while (lines.length > 1 && plainText({ ...text, lines }).length > TEXT_MAX) lines = lines.slice(0, -1)
  return { ...text, lines }
}

function refusal(field: string, problem: string, cure: string): FootholdError {
  return new FootholdError('INVALID_ARGUMENT', { field: `telegramAlerts.${field}`, problem, cure })
}
