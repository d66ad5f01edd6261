import { createClient, type TaskEvent } from '@foothold/http-api'
import { type Agent, agent, connect, type Foothold } from 'foothold'
import { createTestDatabase } from 'foothold/testing'
import { expect, inject, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { serve } from '../src/index.ts'

/** The server over the real engine and PostgreSQL, called as a program calls it. */
async function setup(agents: readonly Agent[], options: { readonly givesAgents?: boolean } = {}) {
  const database = await createTestDatabase(inject('postgresUrl'))
  const foothold: Foothold = await connect(database.url, { logger: 'silent' })
  const worker = foothold.worker({ agents, heartbeatMs: 100, leaseMs: 1_000, graceMs: 500 })
  await worker.start()
  const server = await serve({
    foothold,
    logger: 'silent',
    graceMs: 500,
    agents: options.givesAgents === true ? agents : undefined,
  })
  onTestFinished(async () => {
    await server.close()
    await foothold.close()
    await database.drop()
  })
  return { foothold, server, client: createClient({ url: server.url, reconnectMs: 5 }) }
}

function gate() {
  let open = (): void => {}
  const opened = new Promise<void>((resolve) => {
    open = resolve
  })
  return { opened, open }
}

async function collect(events: AsyncIterable<TaskEvent>): Promise<TaskEvent[]> {
  const found: TaskEvent[] = []
  for await (const event of events) found.push(event)
  return found
}

test('a task submitted over HTTP is followed to its end, and its detail says how it went', async () => {
  const support = agent({
    name: 'support',
    input: z.object({ text: z.string() }),
    async run(task, { text }) {
      await task.step('retrieve', () => ({ order: 5501n, at: new Date('2027-01-02T03:04:05Z') }))
      return task.step('generate', (step) => {
        for (const piece of ['Ваш ', 'заказ ', 'в пути: \0', text]) step.emit('text', piece)
        step.recordUsage({ model: 'GigaChat-2', inputTokens: 7, outputTokens: 3 })
        return `Ваш заказ в пути: \0${text}`
      })
    },
  })
  const { client } = await setup([support])

  const { id, created } = await client.submit({ agent: 'support', input: { text: 'Где заказ?\0' }, tenant: 'Ромашка' })
  const events = await collect(client.events(id))
  const task = await client.task(id)

  expect(created).toBe(true)
  const text = events.filter((event) => event.type === 'chunk').map((event) => event.text)
  expect(text.join('')).toBe('Ваш заказ в пути: \0Где заказ?\0')
  expect(events.at(-1)).toEqual({ type: 'end', status: 'completed', reason: null })
  expect(task).toMatchObject({
    status: 'completed',
    tenant: 'Ромашка',
    input: { text: 'Где заказ?\0' },
    output: 'Ваш заказ в пути: \0Где заказ?\0',
    attempts: [{ attempt: 1, outcome: 'completed' }],
  })
  expect(task.steps.map((step) => [step.key, step.status, step.output])).toEqual([
    ['retrieve', 'completed', { order: '5501', at: '2027-01-02T03:04:05.000Z' }],
    ['generate', 'completed', 'Ваш заказ в пути: \0Где заказ?\0'],
  ])
  expect(task.steps[1]?.usage).toEqual({ model: 'GigaChat-2', inputTokens: 7, outputTokens: 3 })
})

test('a watcher that leaves and returns sees the rest once; the task never notices', async () => {
  const gates = [gate(), gate()]
  const writer = agent({
    name: 'writer',
    input: z.unknown(),
    run: (task) =>
      task.step('generate', async (step) => {
        step.emit('text', 'раз ')
        await gates[0]?.opened
        step.emit('text', 'два ')
        await gates[1]?.opened
        step.emit('text', 'три')
        return step.signal.aborted
      }),
  })
  const { client } = await setup([writer])
  const { id } = await client.submit({ agent: 'writer', input: null })

  let cursor: string | undefined
  for await (const event of client.events(id)) {
    if (event.type !== 'chunk') continue
    cursor = event.cursor
    break
  }
  for (const { open } of gates) open()
  const rest = await collect(client.events(id, { after: cursor }))
  const whole = await collect(client.events(id))

  const textOf = (events: TaskEvent[]): string[] =>
    events.filter((event) => event.type === 'chunk').map((event) => event.text)
  expect(textOf(rest).join('')).toBe('два три')
  expect(textOf(whole).join('')).toBe('раз два три')
  expect((await client.task(id)).output).toBe(false)
})

test('cancel stops a running task, and its stream ends with it', async () => {
  const started = gate()
  const endless = agent({
    name: 'endless',
    input: z.unknown(),
    run: (task) =>
      task.step('wait', ({ signal }) => {
        started.open()
        return new Promise<null>((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)))
      }),
  })
  const { client } = await setup([endless])
  const { id } = await client.submit({ agent: 'endless', input: null })
  await started.opened

  const following = collect(client.events(id))
  const answer = await client.cancel(id, { reason: 'клиент передумал' })

  expect(answer).toEqual({ outcome: 'requested', status: 'processing' })
  expect((await following).at(-1)).toMatchObject({ type: 'end', status: 'cancelled' })
})

test('a dead letter is listed, resumed and completed', async () => {
  let isBroken = true
  const fragile = agent({
    name: 'fragile',
    input: z.unknown(),
    retry: { attemptsMax: 1 },
    run: (task) =>
      task.step('act', () => {
        if (isBroken) throw new Error('CRM: нет связи')
        return 'сделано'
      }),
  })
  const { client } = await setup([fragile])
  const { id } = await client.submit({ agent: 'fragile', input: null })
  const first = await collect(client.events(id))

  const dead = await client.deadLetters({ agent: 'fragile' })
  isBroken = false
  await client.resume(id)
  const second = await collect(client.events(id))

  expect(first.at(-1)).toMatchObject({ type: 'end', status: 'dead_letter' })
  expect(dead.items.map((task) => task.id)).toEqual([id])
  expect(second.at(-1)).toMatchObject({ type: 'end', status: 'completed' })
  await expect(client.resume(id)).rejects.toMatchObject({ code: 'TASK_STATE_CONFLICT', status: 409 })
})

test('fifty submissions at once under one key are one task; another body is refused, another spelling is not', async () => {
  const plain = agent({ name: 'plain', input: z.unknown(), run: async () => null })
  const { client, server } = await setup([plain])
  const submit = (body: string): Promise<Response> =>
    fetch(`${server.url}/v1/tasks`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'idempotency-key': 'k-7' },
      body,
    })

  const answers = await Promise.all(
    Array.from({ length: 50 }, () => submit('{"agent":"plain","input":{"a":1,"б":[2,3]}}')),
  )
  const ids = await Promise.all(answers.map(async (answer) => ((await answer.json()) as { id: string }).id))
  const respelt = await submit('{ "input": { "б": [2, 3], "a": 1 }, "agent": "plain" }')
  const other = await submit('{"agent":"plain","input":{"a":2}}')

  expect(new Set(ids).size).toBe(1)
  expect(answers.filter((answer) => answer.status === 201)).toHaveLength(1)
  expect(respelt.status).toBe(200)
  expect(other.status).toBe(409)
  expect((await client.tasks({ agent: 'plain' })).items).toHaveLength(1)
})

test('a large id keeps its digits from the body through the agent to the answer', async () => {
  const echo = agent({ name: 'echo', input: z.unknown(), run: async (_, input) => input as { id: bigint } })
  const { client, server } = await setup([echo])

  const response = await fetch(`${server.url}/v1/tasks`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{"agent":"echo","input":{"id":9007199254740993}}',
  })
  const { id } = (await response.json()) as { id: string }
  await collect(client.events(id))

  expect((await client.task(id)).output).toEqual({ id: '9007199254740993' })
})

test('an agent at hand has its input checked at submit, an unknown one names the known', async () => {
  const strict = agent({ name: 'strict', input: z.object({ text: z.string() }), run: async () => null })
  const { client } = await setup([strict], { givesAgents: true })

  await expect(client.submit({ agent: 'strict', input: { text: 7 } })).rejects.toMatchObject({
    code: 'INPUT_INVALID',
    status: 422,
    details: { agent: 'strict', issues: [{ path: 'text' }] },
  })
  await expect(client.submit({ agent: 'strikt', input: null })).rejects.toMatchObject({
    code: 'AGENT_UNKNOWN',
    status: 422,
    details: { known: ['strict'] },
  })
})

test('refusals of the engine name the parameter as it is called on the wire', async () => {
  const plain = agent({ name: 'plain', input: z.unknown(), run: async () => null })
  const { client } = await setup([plain])
  const { id } = await client.submit({ agent: 'plain', input: null })

  await expect(client.tasks({ cursor: 'вчера' })).rejects.toMatchObject({
    status: 400,
    message: 'cursor: it is not a cursor. Pass the nextCursor of the page before.',
  })
  await expect(collect(client.events(id, { after: 'yesterday' }))).rejects.toMatchObject({
    status: 400,
    message: expect.stringMatching(/^after: /) as string,
  })
  await expect(client.task('01890a5d-ac96-774b-bcce-b302099a8057')).rejects.toMatchObject({ code: 'TASK_NOT_FOUND' })
})

test('pages of the list together are every task once', async () => {
  const plain = agent({ name: 'plain', input: z.unknown(), run: async () => null })
  const { client } = await setup([plain])
  const ids = await Promise.all(
    Array.from({ length: 7 }, async (_, n) => (await client.submit({ agent: 'plain', input: n })).id),
  )

  const seen: string[] = []
  let cursor: string | undefined
  do {
    const page = await client.tasks({ limit: 3, cursor })
    seen.push(...page.items.map((task) => task.id))
    cursor = page.nextCursor ?? undefined
  } while (cursor !== undefined)

  expect(seen.toSorted()).toEqual(ids.toSorted())
  expect((await client.workers()).map((worker) => worker.status)).toEqual(['active'])
})
