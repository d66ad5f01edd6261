import { once } from 'node:events'
import { setImmediate as turn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { ASK, answer, CHAT, DONE, delta, json, MODEL, read, setup, sse, streamOf, USAGE } from './gigachat-peer.ts'
import type { Route } from './wire-server.ts'

const TEXT = 'Сделка №55 — 🌍 готово'

/** Every byte in a TCP write of its own, as far as the kernel keeps them apart. */
const byteByByte =
  (text: string): Route =>
  async (response) => {
    sse(response)
    response.socket?.setNoDelay(true)
    for (const byte of Buffer.from(text)) {
      if (!response.write(Buffer.of(byte))) await once(response, 'drain')
      await turn()
    }
    response.end()
  }

test.each([
  ['LF', (text: string) => text],
  ['CRLF', (text: string) => text.replaceAll('\n', '\r\n')],
  ['comments between', (text: string) => text.replaceAll('\n\n', '\n\n: ping\n\n:\n')],
  ['a byte order mark', (text: string) => `\uFEFF${text}`],
])('text survives one byte per chunk, with %s', async (_name, form) => {
  const { client } = await setup({ [CHAT]: byteByByte(form(streamOf('Сделка ', '№55 — 🌍', ' готово'))) })

  const { text, error, events } = await read(client)

  expect(error).toBeNull()
  expect(text).toBe(TEXT)
  expect(events.slice(-2)).toEqual([
    { type: 'usage', inputTokens: 17, outputTokens: 42, raw: USAGE },
    { type: 'finish', reason: 'stop', model: MODEL },
  ])
})

test('pieces come while the answer is written, not at its end', async () => {
  let writeRest: () => void = () => undefined
  const { client } = await setup({
    [CHAT]: (response) => {
      sse(response).write(delta({ content: 'Сначала' }))
      writeRest = () => response.end(delta({ content: ', потом' }) + delta({}, 'stop', USAGE) + DONE)
    },
  })

  const texts: string[] = []
  for await (const event of client.model.stream(ASK, { signal: new AbortController().signal })) {
    if (event.type !== 'text') continue
    texts.push(event.text)
    writeRest()
  }

  expect(texts).toEqual(['Сначала', ', потом'])
})

test('an answer without a stream gives the same events', async () => {
  const { client, peer } = await setup({ [CHAT]: (response) => json(response, answer({ content: TEXT })) })

  const { events } = await read(client, { messages: ASK.messages })

  expect(events).toEqual([
    { type: 'text', text: TEXT },
    { type: 'usage', inputTokens: 17, outputTokens: 42, raw: USAGE },
    { type: 'finish', reason: 'stop', model: MODEL },
  ])
  expect(peer.to(CHAT)[0]?.json.stream).toBe(false)
})

test('the request carries what the first version of the API understands', async () => {
  const { client, peer } = await setup({ [CHAT]: (response) => sse(response).end(streamOf('да')) })
  const schema = { type: 'object', properties: { a: { type: 'string' } } }

  await read(client, {
    ...ASK,
    functions: [{ name: 'get_order', description: 'Заказ по номеру', parameters: schema }],
    responseSchema: schema,
    temperature: 0.1,
    maxOutputTokens: 500,
  })

  expect(peer.to(CHAT)[0]?.json).toEqual({
    model: 'GigaChat-2-Pro',
    messages: [{ role: 'user', content: 'Где мой заказ 5501?' }],
    stream: true,
    functions: [{ name: 'get_order', description: 'Заказ по номеру', parameters: schema }],
    function_call: 'auto',
    response_format: { type: 'json_schema', schema, strict: true },
    temperature: 0.1,
    max_tokens: 500,
  })
})

test('half of a surrogate pair does not reach the provider', async () => {
  const { client, peer } = await setup({ [CHAT]: (response) => sse(response).end(streamOf('да')) })

  await read(client, { messages: [{ role: 'user', content: 'Привет \uD83D и 🌍' }] })

  expect(peer.to(CHAT)[0]?.body).toContain('Привет \uFFFD и 🌍')
})

test('every request has an id of its own and the calls of a task share its session', async () => {
  const { client, peer } = await setup({ [CHAT]: (response) => sse(response).end(streamOf('да')) })
  const signal = new AbortController().signal

  for (const sessionId of ['task-1', 'task-1', 'task-2']) {
    for await (const event of client.model.stream(ASK, { signal, sessionId })) void event
  }

  const headers = peer.to(CHAT).map((request) => request.headers)
  expect(headers.map((one) => one['x-session-id'])).toEqual(['task-1', 'task-1', 'task-2'])
  expect(new Set(headers.map((one) => one['x-request-id'])).size).toBe(3)
})

test('one socket serves one answer after the other', async () => {
  const { client, peer } = await setup({ [CHAT]: (response) => sse(response).end(streamOf('да')) })

  await read(client)
  const { connections } = peer
  for (let call = 0; call < 3; call++) expect((await read(client)).error).toBeNull()

  expect(peer.connections).toBe(connections)
})

test('a function the provider runs itself is a sign of life, not part of the answer', async () => {
  const { client } = await setup({
    [CHAT]: (response) =>
      sse(response).end(delta({ role: 'function_in_progress', content: 'рисую' }) + streamOf('Готово')),
  })

  const { events, text } = await read(client)

  expect(events[0]).toEqual({ type: 'reasoning', text: 'рисую' })
  expect(text).toBe('Готово')
})

test('a whole answer that comes although a stream was asked for is taken', async () => {
  const { client } = await setup({ [CHAT]: (response) => json(response, answer({ content: TEXT })) })

  expect(await read(client)).toMatchObject({ text: TEXT, error: null })
})

test('a fetch that is given sends every request, Node’s own too', async () => {
  const urls: string[] = []
  const { client, peer } = await setup(
    { [CHAT]: (response) => sse(response).end(streamOf(TEXT)) },
    {
      fetch: (input, init) => {
        urls.push(input as string)
        return fetch(input, init)
      },
    },
  )

  expect(await read(client)).toMatchObject({ text: TEXT, error: null })
  expect(urls).toEqual(peer.received.map(({ path }) => `${peer.url}${path}`))
})
