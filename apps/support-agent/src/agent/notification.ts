import type { Contact } from '../ports.ts'
import type { Outcome } from './outcome.ts'
import type { ToolResult } from './prompts.ts'
import { atCodePoint, readable } from './readable-text.ts'

export interface Notification {
  readonly taskId: string
  readonly client: { readonly id: string; readonly name: string | null }
  readonly contact: Contact | null
  readonly request: string
  readonly reply: string
  readonly outcome: Outcome
  readonly results: readonly ToolResult[]
  readonly problems: readonly string[]
}

/** The manager looks the rest up: a phone shows no more. */
const REQUEST_CHARACTERS_MAX = 1_500
const REPLY_CHARACTERS_MAX = 8_000

/** What the client's manager reads, in the messenger's HTML. */
export function notificationHtml(n: Notification): string {
  const heading = n.outcome === 'answered' ? 'Клиент получил ответ' : 'Нужен ваш ответ клиенту'
  const name = n.client.name ?? n.contact?.name ?? null
  const lines = [
    `<b>${heading}</b>`,
    `Клиент: ${escapeHtml(name === null ? n.client.id : `${name} (${n.client.id})`)}`,
    ...n.results.flatMap(ticketLine),
    ...n.problems.slice(0, 5).map((problem) => `Проверка: ${escapeHtml(problem)}`),
    '',
    `<b>Запрос</b>\n${escapeHtml(shown(n.request, REQUEST_CHARACTERS_MAX))}`,
    '',
    `<b>${n.outcome === 'answered' ? 'Ответ' : 'Клиенту сказано'}</b>\n${escapeHtml(shown(n.reply, REPLY_CHARACTERS_MAX))}`,
  ]
  return `${lines.join('\n')}\n\n${tag(n.taskId)}`
}

export function deadLetterHtml(n: {
  readonly taskId: string
  readonly client: { readonly id: string; readonly name: string | null }
  readonly request: string
  readonly reason: string
  readonly problem: string
  readonly wasAnswered: boolean
}): string {
  const name = n.client.name === null ? n.client.id : `${n.client.name} (${n.client.id})`
  const said = n.wasAnswered
    ? 'Ответ клиенту уже сохранён, но работа над запросом не закончена.'
    : 'Клиенту сказано, что ответит специалист.'
  return [
    '<b>Запрос не обработан: нужен человек</b>',
    `Клиент: ${escapeHtml(name)}`,
    `Причина: ${escapeHtml(n.reason)}: ${escapeHtml(shown(n.problem, 1_000))}`,
    said,
    '',
    `<b>Запрос</b>\n${escapeHtml(shown(n.request, REQUEST_CHARACTERS_MAX))}`,
    '',
    tag(n.taskId),
  ].join('\n')
}

function ticketLine({ call, outcome, result }: ToolResult): string[] {
  if (call.name !== 'create_ticket') return []
  if (outcome !== 'done') return ['Обращение в CRM: исход неизвестен, проверьте']
  const ticketId = (result as { readonly ticket_id?: unknown }).ticket_id
  return [`Обращение в CRM: №${escapeHtml(String(ticketId))}`]
}

/**
 * The messenger keeps no idempotency keys, so a repetition after a lost answer can be seen twice. The same tag on both
 * tells a person that it is one message.
 */
function tag(taskId: string): string {
  return `#t_${taskId.replaceAll('-', '').slice(-8)}`
}

function shown(text: string, charactersMax: number): string {
  const clean = readable(text).trim()
  return clean.length <= charactersMax ? clean : `${atCodePoint(clean, charactersMax)}…`
}

function escapeHtml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}
