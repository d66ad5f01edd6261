import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { telegramAlerts, webhookAlerts } from '@foothold/server/alerts'
import { type RunningTelegram, startTelegram } from '@foothold/simulators'
import type { AlertMessage, MessageRef } from 'foothold'
import { expect, onTestFinished, test } from 'vitest'

/** The channels against the peers' own wire: what they send, and what each refusal lets follow. */

const CHAT = '-100200300'

const message: AlertMessage = {
  id: '7',
  status: 'open',
  agent: 'support',
  reason: 'crm_unavailable',
  since: new Date('2026-12-02T01:15:07Z'),
  lastAt: new Date('2026-12-02T01:15:07Z'),
  resolvedAt: null,
  tasks: { total: 1, standing: 1, underWay: 0, completed: 0, cancelled: 0 },
  examined: 1,
  errors: [{ step: 'retrieve', message: 'CRM <молчит> & всё', tasks: 1 }],
  examples: [],
  release: { verdict: 'unknown', failed: [], completedBefore: [] },
  effects: [],
  followUps: null,
  repeats: [],
  commands: ['npx foothold dead-letters --agent support'],
}
const two: AlertMessage = { ...message, tasks: { ...message.tasks, total: 2, standing: 2 } }
const context = { signal: AbortSignal.timeout(20_000), mayBeRepeated: false }

async function telegram(): Promise<RunningTelegram> {
  const running = await startTelegram({ chatIds: [CHAT] })
  onTestFinished(() => running.close())
  return running
}

function channelTo({ token, apiRoot }: RunningTelegram): ReturnType<typeof telegramAlerts> {
  return telegramAlerts({ token, apiRoot, chatId: CHAT })
}

async function messagesOf({ control }: RunningTelegram): Promise<{ chatId: string; text: string }[]> {
  const { messages } = (await control.call('GET', 'messages')) as { messages: { chatId: string; text: string }[] }
  return messages
}

/** What it threw, by what may follow. */
async function failureOf(call: Promise<unknown>): Promise<Record<string, unknown>> {
  const error: unknown = await call.then(
    () => new Error('it did not fail'),
    (thrown: unknown) => thrown,
  )
  expect(String(error)).not.toMatch(/simulator-of-telegram|127\.0\.0\.1|s3cret/)
  const { name, message: text, afterMs } = error as Error & { readonly afterMs?: number }
  return { name, message: text, ...(afterMs === undefined ? {} : { afterMs }) }
}

test('one message is sent and then edited; the same edit twice is a success', async () => {
  const bot = await telegram()
  const channel = channelTo(bot)

  const ref = await channel.send(message, context)
  expect(await channel.update(ref, two, context)).toEqual(ref)
  expect(await channel.update(ref, two, context)).toEqual(ref)

  const [only, ...others] = await messagesOf(bot)
  expect(others).toEqual([])
  expect(only?.text).toContain('2 dead letters')
  expect(only?.text).toContain('CRM <молчит> & всё')
})

test('a group that became a supergroup is followed, by the first message and by an edit', async () => {
  const bot = await telegram()
  await bot.control.call('PUT', `chats/${CHAT}`, { kind: 'migrated', toChatId: '-100999' })
  await bot.control.call('PUT', 'chats/-100999', { kind: 'open' })
  const channel = channelTo(bot)

  expect(await channel.send(message, context)).toMatchObject({ chatId: '-100999' })
  const ref = await channel.update({ chatId: CHAT, messageId: 5 }, two, context)

  expect(ref).toMatchObject({ chatId: '-100999' })
  expect(await messagesOf(bot)).toHaveLength(2)
})

test('markup that Telegram cannot parse is sent as plain text', async () => {
  const bot = await telegram()
  const body = { ok: false, error_code: 400, description: "Bad Request: can't parse entities: oops" }
  await bot.control.fault({ match: { path: 'sendMessage' }, fault: { kind: 'answer', status: 400, body } })

  await channelTo(bot).send(message, context)

  expect((await messagesOf(bot))[0]?.text).toContain('CRM <молчит> & всё')
})

test('a deleted message is left alone', async () => {
  const bot = await telegram()
  const gone: MessageRef = { chatId: CHAT, messageId: 999 }

  expect(await channelTo(bot).update(gone, two, context)).toEqual(gone)

  expect(await messagesOf(bot)).toEqual([])
})

const refused = { ok: false, error_code: 429, description: 'Too Many Requests', parameters: { retry_after: 3 } }

test.for([
  {
    when: '429',
    fault: { kind: 'answer', status: 429, body: refused },
    is: { name: 'RetryError', afterMs: 3_000 },
  },
  { when: '502 from a proxy', fault: { kind: 'answer', status: 502, body: '<html>' }, is: { name: 'ReasonedError' } },
  { when: 'a lost answer', fault: { kind: 'drop_after_commit' }, is: { name: 'ReasonedError' } },
] as const)('$when tells whether it may have arrived', async ({ fault, is }) => {
  const bot = await telegram()
  await bot.control.fault({ match: { path: 'sendMessage' }, fault: fault as never })

  expect(await failureOf(channelTo(bot).send(message, context))).toMatchObject(is)
})

test('what a person has to mend is said so: a chat that is not there, a bot that was thrown out, a wrong token', async () => {
  const bot = await telegram()
  const { token, apiRoot } = bot
  const elsewhere = telegramAlerts({ token, apiRoot, chatId: '404' })
  const stranger = telegramAlerts({ token: '1:wrong', apiRoot, chatId: CHAT })
  await bot.control.call('PUT', `chats/${CHAT}`, { kind: 'blocked' })

  for (const channel of [elsewhere, stranger, channelTo(bot)]) {
    expect(await failureOf(channel.send(message, context))).toMatchObject({ name: 'TerminalError' })
  }
})

test('where nobody listens it surely did not arrive', async () => {
  const bot = await startTelegram({ chatIds: [CHAT] })
  await bot.close()

  expect(await failureOf(channelTo(bot).send(message, context))).toMatchObject({
    name: 'RetryError',
    message: 'Telegram did not answer (ECONNREFUSED)',
  })
})

test('a message stays under what Telegram takes', async () => {
  const bot = await telegram()
  const long = 'очень длинная ошибка '.repeat(200)
  const errors = Array.from({ length: 5 }, (_, index) => ({ step: `${index}${long}`, message: long, tasks: 1 }))
  const repeats = errors.map(({ step }) => ({ step, kind: 'effect' as const, because: 'doubt' as const, tasks: 1 }))
  const effects = errors.map(({ step }) => ({ key: step, done: 1, inDoubt: 1 }))

  await channelTo(bot).send({ ...message, errors, repeats, effects }, context)

  const [sent] = await messagesOf(bot)
  expect(sent?.text.length).toBeGreaterThan(1_000)
  expect(sent?.text).toContain('npx foothold dead-letters --agent support\n#alert_7')
})

test('a webhook gets the facts and the words, under its token, each time with the id of the group', async () => {
  const got: { headers: IncomingMessage['headers']; body: Record<string, unknown> }[] = []
  const statuses = [200, 204, 503, 401]
  const receiver = createServer((request, response) => {
    let text = ''
    request.setEncoding('utf8').on('data', (part) => (text += part))
    request.on('end', () => {
      got.push({ headers: request.headers, body: JSON.parse(text) as Record<string, unknown> })
      response.writeHead(statuses[got.length - 1] ?? 500, { 'retry-after': '2' }).end()
    })
  })
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void receiver.close())
  const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/hook?key=s3cret`
  const channel = webhookAlerts({ url, token: 's3cret', language: 'ru' })

  const ref = await channel.send(message, context)
  await channel.update(ref, two, context)

  expect(got.map(({ headers }) => headers.authorization)).toEqual(['Bearer s3cret', 'Bearer s3cret'])
  expect(got.map(({ body }) => body)).toMatchObject([
    { id: '7', status: 'open', tasks: { total: 1 }, text: expect.stringContaining('1 задача остановлена') },
    { id: '7', status: 'open', tasks: { total: 2 } },
  ])
  expect(await failureOf(channel.update(ref, two, context))).toMatchObject({ name: 'RetryError', afterMs: 2_000 })
  expect(await failureOf(channel.update(ref, two, context))).toMatchObject({ name: 'TerminalError' })
})

test.for([
  [() => telegramAlerts({ token: 'нет', chatId: CHAT }), 'telegramAlerts.token'],
  [() => telegramAlerts({ token: '1:a', chatId: 'дежурные' }), 'telegramAlerts.chatId'],
  [() => webhookAlerts({ url: 'ftp://x' }), 'webhookAlerts.url'],
] as const)('a wrong setting is refused at once (%#)', ([make, field]) => {
  expect(make).toThrow(
    expect.objectContaining({ code: 'INVALID_ARGUMENT', details: expect.objectContaining({ field }) }),
  )
})
