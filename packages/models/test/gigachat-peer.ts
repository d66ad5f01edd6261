import type { ServerResponse } from 'node:http'
import { onTestFinished } from 'vitest'
import { type GigaChat, type GigaChatOptions, gigachat } from '../src/gigachat/gigachat.ts'
import type { LlmEvent, LlmRequest } from '../src/port.ts'
import { type Route, type WireServer, wireServer } from './wire-server.ts'

export const OAUTH = '/api/v2/oauth'
export const CHAT = '/api/v1/chat/completions'
export const CREDENTIALS = Buffer.from('client-id:очень-секретно').toString('base64')
export const MODEL = 'GigaChat-2-Pro:2.0.28.2'

/** Numbered tokens that live for half an hour. */
export const login: Route = (response, _request, count) =>
  json(response, { access_token: `token-${count}`, expires_at: Date.now() + 1_800_000 })

/** A GigaChat on loopback and a client for it. */
export async function setup(
  routes: Readonly<Record<string, Route>>,
  options: Partial<GigaChatOptions> = {},
  tls?: { readonly key: string; readonly cert: string },
): Promise<{ peer: WireServer; client: GigaChat }> {
  const peer = await wireServer({ [OAUTH]: login, ...routes }, tls)
  const client = gigachat({
    credentials: CREDENTIALS,
    authUrl: `${peer.url}${OAUTH}`,
    baseUrl: `${peer.url}/api/v1`,
    ...options,
  })
  onTestFinished(() => client.close())
  return { peer, client }
}

export function json(
  response: ServerResponse,
  body: unknown,
  status = 200,
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body))
}

export function sse(response: ServerResponse): ServerResponse {
  return response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' })
}

export const USAGE = { prompt_tokens: 17, completion_tokens: 42, total_tokens: 59, precached_prompt_tokens: 2 }

export function delta(part: object, finishReason?: string, usage?: object): string {
  const choice = { index: 0, delta: part, ...(finishReason === undefined ? {} : { finish_reason: finishReason }) }
  return `data: ${JSON.stringify({ choices: [choice], created: 1768996171, model: MODEL, object: 'chat.completion', ...(usage === undefined ? {} : { usage }) })}\n\n`
}

export const DONE = 'data: [DONE]\n\n'

/** The events of a whole streamed answer, as the service sends them. */
export function streamOf(...texts: readonly string[]): string {
  return [
    delta({ role: 'assistant', content: '' }),
    ...texts.map((text) => delta({ content: text })),
    delta({ content: '' }, 'stop', USAGE),
    DONE,
  ].join('')
}

export function answer(message: object, finishReason = 'stop', usage: object = USAGE): object {
  return {
    choices: [{ message: { role: 'assistant', content: '', ...message }, index: 0, finish_reason: finishReason }],
    created: 1768996171,
    model: MODEL,
    object: 'chat.completion',
    usage,
  }
}

export const ASK: LlmRequest = { messages: [{ role: 'user', content: 'Где мой заказ 5501?' }], stream: true }

export async function read(
  client: GigaChat,
  request: LlmRequest = ASK,
  signal: AbortSignal = new AbortController().signal,
): Promise<{ events: LlmEvent[]; text: string; error: unknown }> {
  const events: LlmEvent[] = []
  let error: unknown = null
  try {
    for await (const event of client.model.stream(request, { signal })) events.push(event)
  } catch (caught) {
    error = caught
  }
  const text = events.map((event) => (event.type === 'text' ? event.text : '')).join('')
  return { events, text, error }
}

/** What Node warns of during this test, such as too many listeners on one signal. */
export function collectWarnings(): readonly Error[] {
  const warnings: Error[] = []
  const onWarning = (warning: Error): number => warnings.push(warning)
  process.on('warning', onWarning)
  onTestFinished(() => {
    process.off('warning', onWarning)
  })
  return warnings
}
