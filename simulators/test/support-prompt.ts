// The prompts of a support agent, as its simulated model gets them: every piece fenced, the request first.

import type { RunningGigaChat } from '../src/index.ts'
import { GigaChatClient } from './gigachat-client.ts'

export interface SupportPrompt {
  readonly request: string
  readonly attachments?: string
  readonly client?: { readonly id: string; readonly name: string | null }
  readonly history?: readonly string[]
  readonly knowledge?: readonly string[]
  readonly problems?: readonly string[]
}

export interface PlanDocument {
  readonly language: string
  readonly summary: string
  readonly calls: readonly { readonly id: string; readonly name: string; readonly arguments: Record<string, string> }[]
}

export interface ToolResult {
  readonly call: { readonly id: string; readonly name: string; readonly arguments: Record<string, string> }
  readonly outcome: 'done' | 'unknown' | 'failed'
  readonly result?: unknown
}

const FUNCTIONS = [
  {
    name: 'get_order',
    description: 'Читает заказ',
    parameters: { type: 'object', properties: { order_id: { type: 'string' } } },
  },
  {
    name: 'create_ticket',
    description: 'Создаёт обращение',
    parameters: {
      type: 'object',
      properties: { subject: { type: 'string' }, description: { type: 'string' }, order_id: { type: 'string' } },
    },
  },
]

const PLAN_SCHEMA = {
  type: 'object',
  properties: {
    language: { type: 'string' },
    summary: { type: 'string' },
    calls: { type: 'array', items: { type: 'object' } },
  },
  required: ['language', 'summary', 'calls'],
}

export class SupportModel {
  readonly #client: GigaChatClient

  constructor(client: GigaChatClient) {
    this.#client = client
  }

  static async start(gigachat: RunningGigaChat): Promise<SupportModel> {
    return new SupportModel(await GigaChatClient.start(gigachat))
  }

  async plan(prompt: SupportPrompt, functions: readonly unknown[] = FUNCTIONS): Promise<PlanDocument> {
    const text = `${fenced(prompt)}\n${fence('functions', JSON.stringify(functions))}`
    const content = await this.#say(text, 'Составь план.', {
      response_format: { type: 'json_schema', schema: PLAN_SCHEMA, strict: true },
    })
    return JSON.parse(content) as PlanDocument
  }

  reply(prompt: SupportPrompt, results: readonly ToolResult[], language = 'ru'): Promise<string> {
    const text = `${fenced(prompt)}\n${fence('tool_results', JSON.stringify(results))}`
    const problems = prompt.problems === undefined ? '' : `\n${fence('problems', prompt.problems.join('\n'))}`
    return this.#say(text + problems, `Ответь клиенту.\nЯзык клиента: ${language}.`)
  }

  /** Any structured answer. */
  async document(request: string, schema: unknown): Promise<unknown> {
    const content = await this.#say(request, 'Ответь документом.', { response_format: { type: 'json_schema', schema } })
    return JSON.parse(content)
  }

  async #say(text: string, system: string, more: Record<string, unknown> = {}): Promise<string> {
    const messages = [
      { role: 'system', content: system },
      { role: 'user', content: text },
    ]
    const response = await this.#client.post('chat/completions', { model: 'GigaChat-2-Pro', messages, ...more })
    const answer = (await response.json()) as { choices: { message: { content: string } }[] }
    return answer.choices[0]?.message.content ?? ''
  }
}

export function orderResult(number: string, result: unknown, outcome: ToolResult['outcome'] = 'done'): ToolResult {
  return { call: { id: `order-${number}`, name: 'get_order', arguments: { order_id: number } }, outcome, result }
}

export function ticketResult(result: unknown, outcome: ToolResult['outcome'] = 'done'): ToolResult {
  return { call: { id: 'ticket', name: 'create_ticket', arguments: { subject: 'x' } }, outcome, result }
}

function fenced({ request, attachments, client, history = [], knowledge = [] }: SupportPrompt): string {
  return [
    fence('request', request),
    ...(attachments === undefined ? [] : [fence('attachments', attachments)]),
    fence('client', JSON.stringify(client ?? { id: '101', name: 'Анна' })),
    fence('history', history.join('\n')),
    fence('knowledge', knowledge.join('\n')),
  ].join('\n')
}

function fence(tag: string, content: string): string {
  return `<${tag}>\n${content.replaceAll('<', '&lt;')}\n</${tag}>`
}
