import { ReasonedError, RetryError, TerminalError } from 'foothold'
import type { Messenger, Sent } from '../ports.ts'
import { parseLosslessJson } from './lossless-json.ts'
import { callOutside } from './outside-call.ts'
import { htmlParts, plainText } from './telegram-parts.ts'

export interface TelegramOptions {
  readonly token: string
  readonly apiRoot: string
  readonly defaultChatId: string | null
}

/** A longer pause than this leaves the step and sleeps in the database. */
const PAUSE_IN_STEP_MAX_MS = 60_000

interface Answer {
  readonly status: number
  readonly isOk: boolean
  readonly description: string
  readonly messageId: string | null
  readonly pauseMs: number | null
  readonly movedToChatId: string | null
}

/** The Bot API on plain fetch: one request, and another only where the first one surely did nothing. */
export function telegram({ token, apiRoot, defaultChatId }: TelegramOptions): Messenger {
  const base = `${apiRoot.replace(/\/+$/, '')}/bot${token}/`

  async function sendMessage(params: object, signal: AbortSignal): Promise<Answer> {
    const { status, text, retryAfterMs } = await callOutside({
      service: 'Telegram',
      unavailable: 'telegram_unavailable',
      url: `${base}sendMessage`,
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(params),
      signal,
    })
    return answerOf(status, text, retryAfterMs)
  }

  return {
    defaultChatId,
    parts: htmlParts,

    async send(chatId, html, signal): Promise<Sent> {
      const common = { chat_id: chatId, link_preview_options: { is_disabled: true } }
      let chat = chatId
      let answer = await sendMessage({ ...common, text: html, parse_mode: 'HTML' }, signal)
      if (answer.movedToChatId !== null) {
        chat = answer.movedToChatId
        answer = await sendMessage({ ...common, chat_id: chat, text: html, parse_mode: 'HTML' }, signal)
      }
      if (answer.status === 400 && /can't parse entities/i.test(answer.description)) {
        answer = await sendMessage({ ...common, chat_id: chat, text: plainText(html) }, signal)
      }
      const isUnreachableChat =
        answer.status === 403 || (answer.status === 400 && /chat not found/i.test(answer.description))
      if (isUnreachableChat && defaultChatId !== null && chat !== defaultChatId) {
        answer = await sendMessage({ ...common, chat_id: defaultChatId, text: html, parse_mode: 'HTML' }, signal)
      }
      return sentOrThrow(answer)
    },
  }
}

function sentOrThrow({ status, isOk, description, messageId, pauseMs }: Answer): Sent {
  if (isOk && messageId !== null) return { kind: 'sent', messageId }
  const message = `Telegram answered ${status}${description === '' ? '' : ` (${description.slice(0, 300)})`}`
  if (status === 429) {
    const afterMs = pauseMs ?? 1_000
    if (afterMs > PAUSE_IN_STEP_MAX_MS) return { kind: 'later', afterMs }
    throw new RetryError(message, { reason: 'telegram_unavailable', afterMs })
  }
  if (status >= 400 && status < 500) throw new TerminalError(message, { reason: 'telegram_rejected' })
  throw new ReasonedError(message, { reason: 'telegram_unavailable' })
}

function answerOf(status: number, text: string, retryAfterMs: number | null): Answer {
  const body = jsonOrNull(text)
  const parameters = body?.['parameters'] as Record<string, unknown> | undefined
  const result = body?.['result'] as Record<string, unknown> | undefined
  const pauseSeconds = parameters?.['retry_after']
  return {
    status,
    isOk: status === 200 && body?.['ok'] === true,
    description: typeof body?.['description'] === 'string' ? body['description'] : '',
    messageId: idText(result?.['message_id']),
    pauseMs: typeof pauseSeconds === 'number' ? pauseSeconds * 1_000 : retryAfterMs,
    movedToChatId: idText(parameters?.['migrate_to_chat_id']),
  }
}

function idText(value: unknown): string | null {
  return typeof value === 'string' || typeof value === 'number' ? String(value) : null
}

function jsonOrNull(text: string): Record<string, unknown> | null {
  try {
    const parsed = parseLosslessJson(text)
    return typeof parsed === 'object' && parsed !== null ? (parsed as Record<string, unknown>) : null
  } catch {
    return null
  }
}
