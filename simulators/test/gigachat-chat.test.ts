import { afterEach, expect, test } from 'vitest'
import { type GigaChatOptions, type RunningGigaChat, startGigaChat } from '../src/index.ts'
import { dataOf, eventsOf, GigaChatClient, textOf } from './gigachat-client.ts'

const QUESTION = 'Какие способы оплаты вы принимаете?'
const running: RunningGigaChat[] = []

afterEach(async () => {
  for (const one of running.splice(0)) await one.close()
})

async function setup(options: GigaChatOptions = {}): Promise<{ gigachat: RunningGigaChat; client: GigaChatClient }> {
  const gigachat = await startGigaChat({ chunkDelayMs: 0, ...options })
  running.push(gigachat)
  const client = await GigaChatClient.start(gigachat)
  await gigachat.control.clearLedger()
  return { gigachat, client }
}

interface Completion {
  readonly model: string
  readonly object: string
  readonly choices: readonly {
    readonly finish_reason: string
    readonly message: {
      readonly content: string
      readonly function_call?: { readonly name: string; readonly arguments: Record<string, unknown> }
      readonly functions_state_id?: string
    }
  }[]
  readonly usage: Record<string, number>
}

test('a stream and a whole answer say the same, and only the last event carries usage and the finish', async () => {
  const { client } = await setup()

  const whole = (await (await client.chat(QUESTION)).json()) as Completion
  const response = await client.stream(QUESTION)
  const text = await response.text()
  const events = eventsOf(text)

  expect(response.headers.get('content-type')).toContain('text/event-stream')
  expect(textOf(events)).toBe(whole.choices[0]?.message.content)
  expect(events[0]?.choices[0]?.delta.role).toBe('assistant')
  expect(events.length).toBeGreaterThan(3)
  expect(events.slice(0, -1).some(({ usage }) => usage !== undefined)).toBe(false)
  expect(events.at(-1)?.choices[0]).toMatchObject({ finish_reason: 'stop', delta: { content: '' } })
  expect(events.at(-1)?.usage).toMatchObject({
    prompt_tokens: whole.usage.prompt_tokens,
    completion_tokens: whole.usage.completion_tokens,
  })
  expect(dataOf(text).at(-1)).toBe('[DONE]')
})

test('the answer names the versioned model and repeats the request and session ids', async () => {
  const { client } = await setup()

  const response = await client.chat(QUESTION, {}, { headers: { 'x-request-id': 'r-1', 'x-session-id': 's-1' } })

  expect(((await response.json()) as Completion).model).toMatch(/^GigaChat-2-Pro:\d/)
  expect(response.headers.get('x-request-id')).toBe('r-1')
  expect(response.headers.get('x-session-id')).toBe('s-1')
})

test('usage counts what tokens/count counts', async () => {
  const { client } = await setup()
  const completion = (await (await client.chat(QUESTION)).json()) as Completion
  const said = completion.choices[0]?.message.content ?? ''

  const counted = await client.post('tokens/count', {
    model: 'GigaChat-2-Pro',
    input: ['Ты отвечаешь клиентам.', QUESTION, said],
  })
  const counts = (await counted.json()) as { object: string; tokens: number; characters: number }[]

  expect(counts.map(({ object }) => object)).toEqual(['tokens', 'tokens', 'tokens'])
  expect(counts[1]?.characters).toBe(QUESTION.length)
  const [system = 0, question = 0, answer = 0] = counts.map(({ tokens }) => tokens)
  expect(completion.usage).toMatchObject({
    prompt_tokens: system + question,
    completion_tokens: answer,
    total_tokens: system + question + answer,
  })
  expect(question).toBeGreaterThan(QUESTION.length / 4)
  expect(question).toBeLessThan(QUESTION.length / 2.5)
})

test('a session that repeats its beginning has it precached', async () => {
  const { client } = await setup()
  const inSession = { headers: { 'x-session-id': 'task-7' } }
  const usageOf = async (response: Promise<Response>): Promise<number | undefined> =>
    ((await (await response).json()) as Completion).usage.precached_prompt_tokens

  expect(await usageOf(client.chat(QUESTION, {}, inSession))).toBe(0)
  expect(await usageOf(client.chat('Другой вопрос', {}, inSession))).toBeGreaterThan(0)
  expect(await usageOf(client.chat(QUESTION))).toBe(0)
})

test('a limit of tokens ends the answer with the reason length', async () => {
  const { client } = await setup()

  const { choices, usage } = (await (await client.chat(QUESTION, { max_tokens: 5 })).json()) as Completion

  expect(choices[0]?.finish_reason).toBe('length')
  expect(usage.completion_tokens).toBeLessThanOrEqual(5)
})

test.each([
  [
    'a second system message',
    {
      messages: [
        { role: 'user', content: 'a' },
        { role: 'system', content: 'b' },
      ],
    },
    422,
    'system message must be the first',
  ],
  ['no messages', { messages: [] }, 422, 'messages'],
  [
    'a function result that is not JSON',
    { messages: [{ role: 'function', name: 'f', content: 'нет' }] },
    422,
    'valid JSON',
  ],
  ['a model that does not exist', { model: 'GigaChat-9' }, 404, 'No such model'],
  ['a function name in Cyrillic', { functions: [{ name: 'заказ' }] }, 422, 'functions.0.name'],
  [
    'arguments as a string',
    { messages: [{ role: 'assistant', content: '', function_call: { name: 'f', arguments: '{}' } }] },
    422,
    'arguments',
  ],
])('a request with %s is refused', async (_, change, status, message) => {
  const { client, gigachat } = await setup()

  const response = await client.chat(QUESTION, change)

  expect(response.status).toBe(status)
  expect(((await response.json()) as { message: string }).message).toContain(message)
  expect((await gigachat.control.ledger()).committed).toEqual([])
})

test('more streams at a time than the account may have are refused', async () => {
  const { gigachat, client } = await setup({ parallelMax: 2 })
  await gigachat.control.gate({ name: 'busy', point: 'mid_stream', afterEvents: 1 })
  const busy = [client.stream(QUESTION), client.stream(QUESTION)]
  await gigachat.control.waitForGate('busy', { count: 2 })

  const third = await client.stream(QUESTION)
  await gigachat.control.openGate('busy')
  for (const one of busy) await (await one).text()
  await gigachat.control.waitForLedger({ ended: 3 })

  expect(third.status).toBe(429)
  expect((await client.stream(QUESTION)).status).toBe(200)
})

test('a client that leaves in mid-stream is in the ledger with the tokens it was sent', async () => {
  const { gigachat, client } = await setup()
  await gigachat.control.gate({ name: 'half', point: 'mid_stream', afterEvents: 2 })
  const leaving = new AbortController()
  await client.stream(QUESTION, { signal: leaving.signal, headers: { 'x-request-id': 'r-9' } })
  await gigachat.control.waitForGate('half')

  leaving.abort()
  await gigachat.control.waitForGate('half', { abandoned: 1 })
  await gigachat.control.openGate('half')

  const { received, committed } = await gigachat.control.waitForLedger({ ended: 1 })
  const [entry] = received
  expect(entry).toMatchObject({ requestId: 'r-9', answer: { state: 'aborted', events: 2 } })
  expect(entry?.answer.tokens).toBeGreaterThan(0)
  const paid = committed[0]?.value as { usage: { completion_tokens: number } } | undefined
  expect(entry?.answer.tokens).toBeLessThan(paid?.usage.completion_tokens ?? 0)
})

test('a client that leaves while bytes are on their way ends the request too', async () => {
  const { gigachat, client } = await setup({ chunkDelayMs: 1 })
  await gigachat.control.fault({ times: null, fault: { kind: 'wire', chunkBytes: 1 } })
  const leaving = new AbortController()
  const response = await client.stream(QUESTION, { signal: leaving.signal })
  await response.body?.getReader().read()

  leaving.abort()

  const { received } = await gigachat.control.waitForLedger({ ended: 1 })
  expect(received[0]?.answer.state).toBe('aborted')
})

test('functions are called one at a time with argument objects, then their results are told', async () => {
  const { client } = await setup()
  const functions = [
    { name: 'find_order', parameters: { type: 'object', properties: { number: { type: 'string' } } } },
    { name: 'open_ticket', parameters: { type: 'object', properties: { title: { type: 'string' } } } },
  ]
  const messages: Record<string, unknown>[] = [{ role: 'user', content: 'Где заказы 5501 и 5502?' }]
  const results: Record<string, string> = {
    '5501': JSON.stringify({ status: 'В пути' }),
    '5502': JSON.stringify({ found: false }),
  }
  const called: string[] = []
  let text = ''
  while (text === '') {
    const { choices } = (await (
      await client.chat('', { messages, functions, function_call: 'auto' })
    ).json()) as Completion
    const { message, finish_reason: reason } = choices[0] ?? { message: { content: '' }, finish_reason: '' }
    const call = message.function_call
    if (call === undefined) {
      text = message.content
      break
    }
    expect(reason).toBe('function_call')
    expect(message.functions_state_id).toMatch(/^[0-9a-f-]{36}$/)
    called.push(`${call.name} ${Object.values(call.arguments).join()}`)
    messages.push({ role: 'assistant', ...message })
    const result = results[Object.values(call.arguments).join()] ?? '{"id":9007199254740993}'
    messages.push({ role: 'function', name: call.name, content: result })
  }

  expect(called).toEqual([
    'find_order 5501',
    'find_order 5502',
    'open_ticket Вопрос по заказу 5501, 5502: Где заказы 5501 и 5502?',
  ])
  expect(text).toContain('«В пути»')
  expect(text).toContain('Заказ 5502 у нас не найден')
  expect(text).toContain('9007199254740993')
})

test('function_call "none" forbids a call', async () => {
  const { client } = await setup()
  const functions = [{ name: 'get_order', parameters: { type: 'object', properties: { order_id: {} } } }]

  const answer = (await (
    await client.chat('Где заказ 5501?', { functions, function_call: 'none' })
  ).json()) as Completion

  expect(answer.choices[0]?.message.function_call).toBeUndefined()
})

test('the models are listed, and a path that does not exist is 404', async () => {
  const { gigachat, client } = await setup()
  const headers = { authorization: `Bearer ${client.token}` }

  const models = (await (await fetch(`${gigachat.baseUrl}/models`, { headers })).json()) as {
    data: { id: string; type: string }[]
  }

  expect(models.data).toContainEqual({ id: 'GigaChat-2-Pro', object: 'model', owned_by: 'salutedevices', type: 'chat' })
  expect(await (await fetch(`${gigachat.baseUrl}/models/Embeddings`, { headers })).json()).toMatchObject({
    type: 'embedder',
  })
  expect((await fetch(`${gigachat.baseUrl}/models/GigaChat-9`, { headers })).status).toBe(404)
  expect((await fetch(`${gigachat.baseUrl}/nowhere`, { headers })).status).toBe(404)
})

test('the balance goes down by what completions cost', async () => {
  const { gigachat, client } = await setup()
  const headers = { authorization: `Bearer ${client.token}` }
  const left = async (): Promise<number> => {
    const answer = (await (await fetch(`${gigachat.baseUrl}/balance`, { headers })).json()) as {
      balance: { usage: string; value: number }[]
    }
    return answer.balance.find(({ usage }) => usage === 'GigaChat-2-Pro')?.value ?? 0
  }

  const before = await left()
  const { usage } = (await (await client.chat(QUESTION)).json()) as Completion

  expect(before - (await left())).toBe(usage.total_tokens)
})

test('when the tokens have run out every completion is 402', async () => {
  const { gigachat, client } = await setup()
  await gigachat.control.call('PUT', 'settings', { tokensLeft: 10 })

  expect((await client.chat(QUESTION)).status).toBe(200)
  const empty = await client.chat(QUESTION)

  expect(await empty.json()).toEqual({ status: 402, message: 'Payment Required' })
})
