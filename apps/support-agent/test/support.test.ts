import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type Simulators, startSimulators } from '@foothold/simulators'
import { connect, type Foothold, type TaskHandle } from 'foothold'
import { createTestDatabase, type TestDatabase } from 'foothold/testing'
import pg from 'pg'
import { afterAll, beforeAll, beforeEach, expect, inject, test } from 'vitest'
import type { SupportAnswer } from '../src/agent/support.ts'
import { type Composition, compose, type Services } from '../src/composition.ts'

/** The whole agent: engine and PostgreSQL are real, GigaChat, the CRM and Telegram play their wires. */

let database: TestDatabase
let simulators: Simulators
let foothold: Foothold
let composition: Composition
let pool: pg.Pool
let services: Services
const SILENT = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined }

beforeAll(async () => {
  database = await createTestDatabase(inject('postgresUrl'))
  simulators = await startSimulators({ gigachat: { chunkDelayMs: 0 } })
  const { gigachat, crm, telegram } = simulators
  services = {
    databaseUrl: database.url,
    gigachat: {
      credentials: gigachat.credentials,
      scope: 'GIGACHAT_API_PERS',
      baseUrl: gigachat.baseUrl,
      authUrl: gigachat.authUrl,
      model: 'GigaChat-2-Pro',
      ca: null,
    },
    crm: { url: crm.baseUrl, hasKeys: false },
    telegram: { token: telegram.token, apiRoot: telegram.apiRoot, defaultChatId: telegram.defaultChatId },
    replyPolicy: 'public_and_loopback',
  }
  composition = await compose(services, SILENT)
  foothold = await connect(database.url, { logger: 'silent' })
  await foothold.worker({ agents: [composition.agent], concurrency: 10 }).start()
  pool = new pg.Pool({ connectionString: database.url, max: 2 })
  pool.on('error', () => undefined)
})
beforeEach(async () => {
  await Promise.all([simulators.gigachat, simulators.crm, simulators.telegram].map((one) => one.control.reset()))
})
afterAll(async () => {
  await foothold?.close()
  await composition?.close()
  await pool?.end()
  await simulators?.close()
  await database?.drop()
})

type Input = Parameters<typeof ask>[0]

async function ask(
  input: string | { text: string; [field: string]: unknown },
  clientId = '101',
): Promise<TaskHandle<SupportAnswer>> {
  const request = typeof input === 'string' ? { text: input } : input
  return foothold.submit(composition.agent, { client: { id: clientId }, attachments: [], ...request } as never)
}

async function answerTo(input: Input, clientId?: string): Promise<SupportAnswer & { readonly taskId: string }> {
  const handle = await ask(input, clientId)
  return { ...(await handle.result({ timeoutMs: 25_000 })), taskId: handle.id }
}

async function tickets(): Promise<readonly { key: string | null }[]> {
  return (await simulators.crm.control.ledger()).committed.filter((entry) => entry.kind === 'crm.item')
}

async function messages(): Promise<{ chatId: string; text: string }[]> {
  const said = (await simulators.telegram.control.call('GET', 'messages')) as {
    messages: { chatId: string; text: string }[]
  }
  return said.messages
}

async function replies(taskId: string): Promise<{ body: string; outcome: string }[]> {
  return (await pool.query('select body, outcome from support.replies where task_id = $1', [taskId])).rows
}

test('a question about an order is answered with what the CRM says: one ticket, one reply, one message', async () => {
  const answer = await answerTo('Где мой заказ 5501?')

  expect(answer).toMatchObject({ outcome: 'answered', language: 'ru', problems: [] })
  expect(answer.reply).toContain('Передан в доставку')
  expect(answer.reply).toMatch(/12\s900/)
  expect(answer.reply).toContain(answer.ticketId)
  expect(await tickets()).toHaveLength(1)
  expect(await replies(answer.taskId)).toEqual([{ body: answer.reply, outcome: 'answered' }])
  const sent = await messages()
  expect(sent.map(({ chatId }) => chatId)).toEqual(['700100200'])
  expect(sent[0]?.text).toContain(`Обращение в CRM: №${answer.ticketId}`)
})

test('the steps stand under their names, each done once', async () => {
  const handle = await ask('Где заказы 5501 и 5502?')
  await handle.result({ timeoutMs: 25_000 })

  const detail = await foothold.task(handle.id)
  expect(detail?.steps.map(({ key, status, tries }) => `${key} ${status} ${tries}`).toSorted()).toEqual(
    [
      'retrieve',
      'plan',
      'tool_call:order-5501',
      'tool_call:order-5502',
      'tool_call:ticket',
      'generate',
      'verify',
      'store',
      'notify',
    ]
      .map((key) => `${key} completed 1`)
      .toSorted(),
  )
})

test('another state in the CRM is another answer', async () => {
  await simulators.crm.control.call('PUT', 'orders/5501', { stage: 'Доставлен', amount: '777.00' })

  const { reply } = await answerTo('Где мой заказ 5501?')

  expect(reply).toContain('Доставлен')
  expect(reply).toContain('777')
  expect(reply).not.toContain('Передан в доставку')
})

test('an order that does not exist is said not to exist', async () => {
  const { reply, outcome } = await answerTo('Где мой заказ 9999?')

  expect(outcome).toBe('answered')
  expect(reply).toMatch(/9999.*не найден/)
})

test('an order number past 2^53 keeps every digit on its way through model, CRM and answer', async () => {
  const { reply } = await answerTo('Где мой заказ 9007199254740993?', '9007199254740993')

  expect(reply).toContain('9007199254740993')
  expect(reply).toContain('Капучинатор')
})

test('an English question has an English answer', async () => {
  const { language, reply } = await answerTo('Where is my order 5505?', '103')

  expect(language).toBe('en')
  expect(reply).toMatch(/order 5505/i)
})

test('an attached file in windows-1251 is read, and its order is looked up', async () => {
  const base64 = Buffer.from(
    'cfeef1fbebeae020efee20e7e0eae0e7f3203535303320eff0e8f8ebe020f0e0e7e1e8f2eee9',
    'hex',
  ).toString('base64')

  const { reply } = await answerTo(
    { text: 'Посмотрите файл, пожалуйста', attachments: [{ name: 'жалоба.txt', base64 }] },
    '102',
  )

  expect(reply).toContain('5503')
  expect(reply).toContain('Доставлен')
})

test('an invented figure never reaches the client: one more try, then a person', async () => {
  const invention = { kind: 'content', text: 'Вернём вам 1 000 000 ₽ уже 3 января 2031 года.' } as const
  await simulators.gigachat.control.fault({ match: { contains: '<tool_results>' }, times: null, fault: invention })

  const answer = await answerTo('Где мой заказ 5501?')

  expect(answer.outcome).toBe('handed_to_person')
  expect(answer.reply).toContain('специалисту')
  expect(answer.reply).not.toContain('000')
  expect(answer.problems.join()).toContain('1 000 000')
  expect(await replies(answer.taskId)).toEqual([{ body: answer.reply, outcome: 'handed_to_person' }])
  expect((await messages())[0]?.text).toContain('Нужен ваш ответ клиенту')
  const steps = (await foothold.task(answer.taskId as never))?.steps.map(({ key }) => key) ?? []
  expect(steps).toEqual(expect.arrayContaining(['generate:2', 'verify:2']))
})

test('an invented figure that the second try leaves out costs nothing but that try', async () => {
  const invention = { kind: 'content', text: 'Доставим 3 января 2031 года.' } as const
  await simulators.gigachat.control.fault({ match: { contains: '<tool_results>' }, times: 1, fault: invention })

  const answer = await answerTo('Где мой заказ 5501?')

  expect(answer).toMatchObject({ outcome: 'answered', problems: [] })
  expect(answer.reply).not.toContain('2031')
})

test('a ticket whose answer was lost is looked up and not made twice', async () => {
  await simulators.crm.control.fault({ match: { path: 'crm.item.add' }, fault: { kind: 'drop_after_commit' } })

  const answer = await answerTo('Где мой заказ 5501?')

  expect(await tickets()).toHaveLength(1)
  expect(answer.reply).toContain(answer.ticketId)
})

test('a refusal of the CRM is not repeated: its own words reach the dead letter, and the client still has an answer', async () => {
  const refusal = {
    kind: 'answer',
    status: 400,
    body: { error: 'ERROR_CORE', error_description: 'Действие недоступно' },
  } as const
  await simulators.crm.control.fault({ match: { path: 'crm.item.add' }, times: null, fault: refusal })
  const handle = await ask('Где мой заказ 5501?')

  await expect(handle.result({ timeoutMs: 25_000 })).rejects.toMatchObject({ code: 'TASK_DEAD_LETTER' })

  expect((await foothold.task(handle.id))?.lastReason).toBe('crm_rejected')
  const asked = (await simulators.crm.control.ledger()).received.filter(({ path }) => path.includes('crm.item.add'))
  expect(asked).toHaveLength(1)
  await expect.poll(() => messages(), { timeout: 20_000 }).toHaveLength(1)
  expect((await messages())[0]?.text).toContain('Действие недоступно')
  expect(await replies(handle.id)).toEqual([
    { body: expect.stringContaining('специалисту'), outcome: 'handed_to_person' },
  ])
})

test('a request that was never checked and does not fit ends with a person who is told, not with a crash', async () => {
  const handle = await foothold.submit('support', {
    client: { id: 102 },
    text: 'Где заказ?',
    locale: 5,
    attachments: 'нет',
  })

  await expect(handle.result({ timeoutMs: 25_000 })).rejects.toMatchObject({ code: 'TASK_DEAD_LETTER' })

  await expect.poll(() => messages(), { timeout: 20_000 }).toHaveLength(1)
  expect((await messages())[0]).toMatchObject({ chatId: '5366182128746793135' })
  expect(await replies(handle.id)).toEqual([
    { body: expect.stringContaining('специалисту'), outcome: 'handed_to_person' },
  ])
})

test('a dead letter that a person resumes after the cause is gone ends with the real answer as its one reply', async () => {
  const refusal = {
    kind: 'answer',
    status: 403,
    body: { error: 'ACCESS_DENIED', error_description: 'Нет доступа' },
  } as const
  await simulators.crm.control.fault({ match: { path: 'crm.item.add' }, times: null, fault: refusal })
  const handle = await ask('Где мой заказ 5501?')
  await expect(handle.result({ timeoutMs: 25_000 })).rejects.toMatchObject({ code: 'TASK_DEAD_LETTER' })
  await expect.poll(() => replies(handle.id), { timeout: 20_000 }).toHaveLength(1)
  await expect.poll(() => messages(), { timeout: 20_000 }).toHaveLength(1)
  await simulators.crm.control.clearFaults()

  await foothold.resume(handle.id)
  const { reply } = await handle.result({ timeoutMs: 25_000 })

  expect(await replies(handle.id)).toEqual([{ body: reply, outcome: 'answered' }])
  expect(await tickets()).toHaveLength(1)
  const prompts = (await simulators.gigachat.control.ledger()).committed.filter(({ kind }) => kind === 'completion')
  expect(prompts).toHaveLength(2)
})

test('history is remembered: the next request of the client is prompted with the last answer', async () => {
  const first = await answerTo('Где мой заказ 5507?', 'история')
  await answerTo('А что с оплатой?', 'история')

  const { received } = await simulators.gigachat.control.ledger()
  const prompts = received
    .filter(({ path }) => path.endsWith('chat/completions'))
    .map(({ body }) => JSON.stringify(body))
  expect(prompts.at(-1)).toContain('Возврат оформляется')
  expect(first.reply).toContain('Возврат оформляется')
})

test('a reply is delivered to the address of the request, once, with its key', async () => {
  const received: { key: string | undefined; body: string }[] = []
  const server = createServer((request, response) => {
    let body = ''
    request.on('data', (chunk: Buffer) => (body += chunk.toString()))
    request.on('end', () => {
      received.push({ key: request.headers['idempotency-key'] as string | undefined, body })
      response.writeHead(204).end()
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  try {
    const replyTo = `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`
    const { taskId, reply } = await answerTo({ text: 'Где мой заказ 5501?', replyTo })

    expect(received.map(({ body }) => JSON.parse(body))).toEqual([
      { taskId, clientId: '101', outcome: 'answered', language: 'ru', text: reply },
    ])
    expect(received[0]?.key).toMatch(/.{16,}/)
  } finally {
    server.close()
  }
})

test('broken text in every field is answered, not stumbled over', async () => {
  const answer = await answerTo({
    text: 'Где мой\0 заказ 5501?\uD83D',
    client: { id: '101', name: 'Ан\0на\uDC00' },
    attachments: [{ name: 'a\0.txt', text: 'x\0y\uD800' }],
  })

  expect(answer.outcome).toBe('answered')
  expect(await replies(answer.taskId)).toHaveLength(1)
})

test('a long pause of Telegram is slept through without a slot, and the message is sent once after it', async () => {
  const body = {
    ok: false,
    error_code: 429,
    description: 'Too Many Requests: retry after 61',
    parameters: { retry_after: 61 },
  }
  await simulators.telegram.control.fault({ match: {}, fault: { kind: 'answer', status: 429, body } })
  const handle = await ask('Где мой заказ 5501?')

  await expect.poll(async () => (await foothold.task(handle.id))?.status, { timeout: 20_000 }).toBe('waiting')

  expect(await foothold.task(handle.id)).toMatchObject({ waitingFor: 'sleep', workerId: null })
  expect(await messages()).toEqual([])
  await handle.cancel()
})
