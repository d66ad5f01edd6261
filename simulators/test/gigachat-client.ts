import type { RunningGigaChat } from '../src/index.ts'

export interface StreamEvent {
  readonly choices: readonly {
    readonly delta: { readonly content: string; readonly role?: string }
    readonly finish_reason?: string
  }[]
  readonly usage?: { readonly prompt_tokens: number; readonly completion_tokens: number; readonly total_tokens: number }
}

/** The plainest client of the wire: no retries, nothing hidden. */
export class GigaChatClient {
  readonly #gigachat: RunningGigaChat
  token = ''

  constructor(gigachat: RunningGigaChat) {
    this.#gigachat = gigachat
  }

  static async start(gigachat: RunningGigaChat): Promise<GigaChatClient> {
    const client = new GigaChatClient(gigachat)
    await client.authorise()
    return client
  }

  async authorise(): Promise<void> {
    const answer = (await (await requestToken(this.#gigachat)).json()) as { access_token: string }
    this.token = answer.access_token
  }

  post(
    path: string,
    body: unknown,
    options: { headers?: Record<string, string>; signal?: AbortSignal } = {},
  ): Promise<Response> {
    return fetch(`${this.#gigachat.baseUrl}/${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${this.token}`, 'content-type': 'application/json', ...options.headers },
      body: JSON.stringify(body),
      ...(options.signal === undefined ? {} : { signal: options.signal }),
    })
  }

  chat(
    content: string,
    more: Record<string, unknown> = {},
    options: Parameters<GigaChatClient['post']>[2] = {},
  ): Promise<Response> {
    const messages = [
      { role: 'system', content: 'Ты отвечаешь клиентам.' },
      { role: 'user', content },
    ]
    return this.post('chat/completions', { model: 'GigaChat-2-Pro', messages, ...more }, options)
  }

  stream(content: string, options: Parameters<GigaChatClient['post']>[2] = {}): Promise<Response> {
    return this.chat(content, { stream: true }, options)
  }
}

export function requestToken(
  gigachat: RunningGigaChat,
  change: { headers?: Record<string, string>; scope?: string } = {},
): Promise<Response> {
  return fetch(gigachat.authUrl, {
    method: 'POST',
    headers: { authorization: `Basic ${gigachat.credentials}`, rquid: crypto.randomUUID(), ...change.headers },
    body: new URLSearchParams({ scope: change.scope ?? 'GIGACHAT_API_PERS' }),
  })
}

/** The `data:` payloads of a stream's text, comments and line ends aside. */
export function dataOf(text: string): string[] {
  return text
    .split(/\r?\n\r?\n/)
    .flatMap((block) => block.split(/\r?\n/))
    .filter((line) => line.startsWith('data: '))
    .map((line) => line.slice('data: '.length))
}

export function eventsOf(text: string): StreamEvent[] {
  return dataOf(text)
    .filter((data) => data !== '[DONE]')
    .map((data) => JSON.parse(data) as StreamEvent)
}

export function textOf(events: readonly StreamEvent[]): string {
  return events.map((event) => event.choices[0]?.delta.content ?? '').join('')
}
