// What a prompt holds. Support prompts fence their pieces in tags on lines of their own; any other prompt is taken as
// the request itself, and its functions and their results come by the API's own fields.

import { parseJson } from '../../wire/lossless-json.ts'
import type { ChatMessage, ChatRequest, FunctionDescription } from '../chat-request.ts'

export interface Article {
  readonly title: string
  readonly text: string
}

export interface ToolResult {
  readonly name: string
  readonly arguments: Readonly<Record<string, unknown>>
  readonly outcome: 'done' | 'unknown' | 'failed'
  readonly result: unknown
}

export interface Prompt {
  readonly request: string
  readonly attachments: string
  readonly clientName: string | null
  readonly history: readonly string[]
  readonly knowledge: readonly Article[]
  readonly functions: readonly FunctionDescription[]
  readonly toolResults: readonly ToolResult[]
  /** What was found wrong with an earlier answer. */
  readonly problems: readonly string[]
  /** The language that the system message asks for. */
  readonly declaredLanguage: string | null
}

export function readPrompt(chat: ChatRequest): Prompt {
  const users = chat.messages.filter(({ role }) => role === 'user').map(({ content }) => content)
  // A later message may only complain about an answer; the fenced one still holds the matter.
  const text = users.findLast((content) => section(content, 'request') !== null) ?? users.at(-1) ?? ''
  const fenced = (tag: string): string => section(text, tag) ?? ''
  return {
    request: section(text, 'request') ?? text,
    attachments: fenced('attachments'),
    clientName: clientName(fenced('client')),
    history: linesOf(fenced('history')),
    knowledge: linesOf(fenced('knowledge')).flatMap(article),
    functions: chat.functions ?? readFunctions(fenced('functions')),
    toolResults: [...readToolResults(fenced('tool_results')), ...functionResults(chat.messages)],
    problems: linesOf(fenced('problems')),
    declaredLanguage: declaredLanguage(chat.messages[0]),
  }
}

function section(text: string, tag: string): string | null {
  const lines = text.split('\n')
  const start = lines.findIndex((line) => line.trimEnd() === `<${tag}>`)
  if (start === -1) return null
  const length = lines.slice(start + 1).findIndex((line) => line.trimEnd() === `</${tag}>`)
  if (length === -1) return null
  const inside = lines.slice(start + 1, start + 1 + length).join('\n')
  return unescape(inside).trim()
}

function unescape(text: string): string {
  return text.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&quot;', '"').replaceAll('&amp;', '&')
}

function linesOf(text: string): string[] {
  return text.split(/\r?\n/).filter((line) => line.trim() !== '')
}

function article(line: string): Article[] {
  const [, title, text] = /^\s*-?\s*([^:]{1,200}):\s*(.+)$/.exec(line) ?? []
  return title === undefined || text === undefined ? [] : [{ title: title.trim(), text: text.trim() }]
}

function clientName(json: string): string | null {
  const client = jsonOrNull(json)
  if (!isRecord(client) || typeof client.name !== 'string') return null
  const name = client.name.replace(/\s+/g, ' ').trim()
  return name === '' ? null : name
}

function readFunctions(json: string): FunctionDescription[] {
  const functions = jsonOrNull(json)
  if (!Array.isArray(functions)) return []
  return functions.filter((one): one is FunctionDescription => isRecord(one) && typeof one.name === 'string')
}

function readToolResults(json: string): ToolResult[] {
  const results = jsonOrNull(json)
  if (!Array.isArray(results)) return []
  return results.flatMap((one): ToolResult[] => {
    if (!isRecord(one) || !isRecord(one.call) || typeof one.call.name !== 'string') return []
    const { outcome } = one
    return [
      {
        name: one.call.name,
        arguments: isRecord(one.call.arguments) ? one.call.arguments : {},
        outcome: outcome === 'done' || outcome === 'failed' ? outcome : 'unknown',
        result: one.result,
      },
    ]
  })
}

/** The API's own form: the assistant's call, then a message of the role "function" with its result. */
function functionResults(messages: readonly ChatMessage[]): ToolResult[] {
  return messages.flatMap((message, index): ToolResult[] => {
    if (message.role !== 'function') return []
    const call = messages.slice(0, index).findLast((one) => one.function_call?.name === message.name)?.function_call
    const name = message.name ?? ''
    return [{ name, arguments: call?.arguments ?? {}, outcome: 'done', result: jsonOrNull(message.content) }]
  })
}

function declaredLanguage(message: ChatMessage | undefined): string | null {
  if (message?.role !== 'system') return null
  const found = /(?:язык(?:\s+клиента|\s+ответа)?|(?:client's |reply )?language)\s*:\s*([a-z]{2,3})\b/i.exec(
    message.content,
  )
  return found?.[1]?.toLowerCase() ?? null
}

function jsonOrNull(text: string): unknown {
  try {
    return parseJson(text)
  } catch {
    return null
  }
}

export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
