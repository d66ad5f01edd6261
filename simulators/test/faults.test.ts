import { request as httpRequest } from 'node:http'
import { afterEach, expect, test } from 'vitest'
import { type RunningGigaChat, startGigaChat } from '../src/index.ts'
import { dataOf, eventsOf, GigaChatClient, textOf } from './gigachat-client.ts'

const QUESTION = 'Где мой заказ 5501? 🌍'
const running: RunningGigaChat[] = []

afterEach(async () => {
  for (const one of running.splice(0)) await one.close()
})

async function setup(): Promise<{ gigachat: RunningGigaChat; client: GigaChatClient; answer: string }> {
  const gigachat = await startGigaChat({ chunkDelayMs: 0 })
  running.push(gigachat)
  const client = await GigaChatClient.start(gigachat)
  const answer = textOf(eventsOf(await (await client.stream(QUESTION)).text()))
  await gigachat.control.clearLedger()
  return { gigachat, client, answer }
}

test('an answer fault replaces the service, so often as it says, and nothing is committed', async () => {
  const { gigachat, client } = await setup()
  await gigachat.control.fault({
    match: { path: 'chat/completions' },
    times: 2,
    fault: {
      kind: 'answer',
      status: 429,
      headers: { 'retry-after': '7' },
      body: { status: 429, message: 'Too many requests' },
    },
  })

  const first = await client.chat(QUESTION)
  const second = await client.chat(QUESTION)
  const third = await client.chat(QUESTION)

  expect([first.status, second.status, third.status]).toEqual([429, 429, 200])
  expect(first.headers.get('retry-after')).toBe('7')
  expect(await first.json()).toEqual({ status: 429, message: 'Too many requests' })
  const ledger = await gigachat.control.ledger()
  expect(ledger.received.map(({ answer }) => answer.status)).toEqual([429, 429, 200])
  expect(ledger.committed.map(({ kind }) => kind)).toEqual(['completion'])
})

test('a gateway answers with its HTML page', async () => {
  const { gigachat, client } = await setup()
  await gigachat.control.fault({
    fault: { kind: 'answer', status: 502, body: '<html><h1>502 Bad Gateway</h1></html>' },
  })

  const answer = await client.chat(QUESTION)

  expect(answer.status).toBe(502)
  expect(answer.headers.get('content-type')).toContain('text/html')
  expect(await answer.text()).toContain('Bad Gateway')
})

test('a match looks at the path, the method, a header and the decoded body', async () => {
  const { gigachat, client } = await setup()
  const refusal = { kind: 'answer', status: 503 } as const
  await gigachat.control.fault({ match: { contains: 'возврат' }, times: null, fault: refusal })
  await gigachat.control.fault({
    match: { header: { name: 'X-Session-ID', value: 's-7' } },
    times: null,
    fault: refusal,
  })
  await gigachat.control.fault({ match: { method: 'get' }, times: null, fault: refusal })

  const escaped = await fetch(`${gigachat.baseUrl}/chat/completions`, {
    method: 'POST',
    body: '{"messages":[{"content":"\\u0432\\u043e\\u0437\\u0432\\u0440\\u0430\\u0442"}]}',
    headers: { 'content-type': 'application/json' },
  })

  expect(escaped.status).toBe(503)
  expect((await client.chat('Как оформить возврат?')).status).toBe(503)
  expect((await client.chat(QUESTION, {}, { headers: { 'x-session-id': 's-7' } })).status).toBe(503)
  expect((await fetch(`${gigachat.baseUrl}/models`)).status).toBe(503)
  expect((await client.chat(QUESTION)).status).toBe(200)
})

test('a stream sent one byte at a time, with CRLF and comments, carries the same text', async () => {
  const { gigachat, client, answer } = await setup()
  await gigachat.control.fault({ times: null, fault: { kind: 'wire', chunkBytes: 1, lineEnd: 'crlf', comments: true } })

  const chunks = await rawChunks(`${gigachat.baseUrl}/chat/completions`, client.token)

  expect(chunks.every((chunk) => chunk.length === 1)).toBe(true)
  const text = Buffer.concat(chunks).toString('utf8')
  expect(text).toContain(': ping\r\n\r\ndata: ')
  expect(text).not.toContain('�')
  expect(textOf(eventsOf(text))).toBe(answer)
  expect(answer).toContain('нет')
})

test('a stream cut after two events breaks for the client and is in the ledger as cut', async () => {
  const { gigachat, client } = await setup()
  await gigachat.control.fault({ fault: { kind: 'cut', afterEvents: 2 } })

  const answer = await client.stream(QUESTION)

  await expect(answer.text()).rejects.toThrow('terminated')
  const { received } = await gigachat.control.waitForLedger({ ended: 1 })
  expect(received[0]?.answer).toMatchObject({ state: 'cut', events: 2, status: 200 })
})

test('a cut after 61 bytes leaves exactly 61 bytes, in the middle of a letter too', async () => {
  const { gigachat, client } = await setup()
  await gigachat.control.fault({ fault: { kind: 'cut', afterBytes: 61 } })

  const answer = await client.chat(QUESTION)

  await expect(answer.text()).rejects.toThrow('terminated')
  const { received } = await gigachat.control.waitForLedger({ ended: 1 })
  expect(received[0]?.answer).toMatchObject({ state: 'cut', bytes: 61 })
})

test('a stream may close cleanly without its end marker, with or without the finish event', async () => {
  const { gigachat, client, answer } = await setup()
  await gigachat.control.fault({ fault: { kind: 'no_end_marker' } })
  const bare = await (await client.stream(QUESTION)).text()
  await gigachat.control.fault({ fault: { kind: 'no_end_marker', keepFinish: true } })
  const finished = await (await client.stream(QUESTION)).text()
  await gigachat.control.fault({ fault: { kind: 'no_end_marker', afterEvents: 1 } })
  const short = await (await client.stream(QUESTION)).text()

  expect(textOf(eventsOf(bare))).toBe(answer)
  expect(eventsOf(bare).some((event) => event.choices[0]?.finish_reason !== undefined)).toBe(false)
  expect(eventsOf(finished).at(-1)?.choices[0]?.finish_reason).toBe('stop')
  expect(eventsOf(short)).toHaveLength(1)
  for (const text of [bare, finished, short]) expect(dataOf(text)).not.toContain('[DONE]')
  const { received } = await gigachat.control.ledger()
  expect(received.map((one) => one.answer.state)).toEqual(['ended_early', 'ended_early', 'ended_early'])
})

test('the finish reason and the content can be others than the model would give', async () => {
  const { gigachat, client, answer } = await setup()
  await gigachat.control.fault({ fault: { kind: 'finish_reason', value: 'length' } })
  const cut = eventsOf(await (await client.stream(QUESTION)).text())
  await gigachat.control.fault({ fault: { kind: 'finish_reason', value: 'blacklist' } })
  const refused = (await (await client.chat(QUESTION)).json()) as Completion
  await gigachat.control.fault({
    fault: [
      { kind: 'content', text: '' },
      { kind: 'finish_reason', value: 'length' },
    ],
  })
  const empty = (await (await client.chat(QUESTION)).json()) as Completion

  expect(cut.at(-1)?.choices[0]?.finish_reason).toBe('length')
  expect(answer.startsWith(textOf(cut))).toBe(true)
  expect(textOf(cut).length).toBeLessThan(answer.length)
  expect(refused.choices[0]?.finish_reason).toBe('blacklist')
  expect(empty.choices[0]).toMatchObject({ finish_reason: 'length', message: { content: '' } })
})

test('a hang is silent with the socket open until the client gives up', async () => {
  const { gigachat, client } = await setup()
  await gigachat.control.fault({ fault: { kind: 'hang' } })
  await gigachat.control.fault({ match: { contains: 'поток' }, fault: { kind: 'hang', afterEvents: 1 } })
  const givingUp = new AbortController()

  const silent = client.chat(QUESTION, {}, { signal: givingUp.signal })
  const { received } = await gigachat.control.waitForLedger({ received: 1 })
  expect(received[0]?.answer.state).toBe('pending')
  givingUp.abort()
  await expect(silent).rejects.toThrow('aborted')

  const streaming = new AbortController()
  const stream = await client.stream('поток', { signal: streaming.signal })
  const reader = stream.body?.getReader()
  expect(Buffer.from((await reader?.read())?.value ?? []).toString()).toContain('data: ')
  streaming.abort()
  const ended = await gigachat.control.waitForLedger({ ended: 2 })
  expect(ended.received.map(({ answer }) => answer.state)).toEqual(['aborted', 'aborted'])
  expect(ended.received[1]?.answer.events).toBe(1)
})

test('a reset does nothing, a drop does everything, and the client sees the same broken connection', async () => {
  const { gigachat, client } = await setup()
  await gigachat.control.fault({ fault: { kind: 'reset' } })
  await expect(client.chat(QUESTION)).rejects.toThrow('fetch failed')
  expect((await gigachat.control.waitForLedger({ ended: 1 })).committed).toEqual([])

  await gigachat.control.fault({ fault: { kind: 'drop_after_commit' } })
  await expect(client.chat(QUESTION)).rejects.toThrow('fetch failed')
  const { received, committed } = await gigachat.control.waitForLedger({ ended: 2 })

  expect(received.map(({ answer }) => answer.state)).toEqual(['reset', 'dropped'])
  expect(committed.map(({ request }) => request)).toEqual([received[1]?.seq])
})

test('a delay holds the first byte back', async () => {
  const { gigachat, client } = await setup()
  await gigachat.control.fault({ fault: { kind: 'delay', firstByteMs: 120 } })
  const startedAt = performance.now()

  await client.chat(QUESTION)

  expect(performance.now() - startedAt).toBeGreaterThan(110)
})

test('rules can be listed and removed, one or all', async () => {
  const { gigachat, client } = await setup()
  const id = await gigachat.control.fault({ times: null, fault: { kind: 'answer', status: 500 } })
  expect((await client.chat(QUESTION)).status).toBe(500)
  expect(await gigachat.control.faults()).toMatchObject([{ id, hits: 1, timesLeft: null }])

  await gigachat.control.call('DELETE', `faults/${id}`)

  expect((await client.chat(QUESTION)).status).toBe(200)
  expect(await gigachat.control.faults()).toEqual([])
})

test('a rule that is wrong is refused with the field and what is wrong', async () => {
  const { gigachat } = await setup()
  const unknown = { fault: { kind: 'explode' } } as unknown as Parameters<typeof gigachat.control.fault>[0]

  await expect(gigachat.control.fault(unknown)).rejects.toThrow('fault')
  await expect(gigachat.control.fault({ times: 0, fault: { kind: 'reset' } })).rejects.toThrow('times')
  await expect(gigachat.control.call('GET', 'nowhere')).rejects.toThrow('GET /_sim/ledger')
})

interface Completion {
  readonly choices: readonly { readonly message: { readonly content: string }; readonly finish_reason: string }[]
}

/** The chunks as HTTP carries them; fetch would join them. */
function rawChunks(url: string, token: string): Promise<Buffer[]> {
  const body = JSON.stringify({
    model: 'GigaChat-2-Pro',
    stream: true,
    messages: [{ role: 'user', content: QUESTION }],
  })
  return new Promise((resolve, reject) => {
    const request = httpRequest(url, { method: 'POST', headers: { authorization: `Bearer ${token}` } }, (response) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.on('end', () => resolve(chunks))
      response.on('error', reject)
    })
    request.on('error', reject)
    request.end(body)
  })
}
