import { agent, connect, type Foothold, type TaskContext } from 'foothold'
import { createTestDatabase } from 'foothold/testing'
import { expect, inject, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { type GigaChat, generate } from '../src/index.ts'
import { answer, CHAT, DONE, delta, json, MODEL, setup, sse, streamOf, USAGE } from './gigachat-peer.ts'
import type { Route } from './wire-server.ts'

const RESULT = { timeoutMs: 20_000 } as const

/** A GigaChat that plans at once and then answers by `reply`, the engine, and an agent that asks for both. */
async function world(reply: Route) {
  let replies = 0
  const { peer, client } = await setup({
    [CHAT]: (response, request) => {
      if (request.json.response_format !== undefined) json(response, answer({ content: '{"шаги":["ответить"]}' }))
      else return reply(response, request, ++replies)
    },
  })
  const database = await createTestDatabase(inject('postgresUrl'))
  onTestFinished(() => database.drop())
  const foothold = await connect(database.url, { logger: 'silent' })
  onTestFinished(() => foothold.close())
  const support = agent({ name: 'support', input: z.string(), run: (task, text) => answerRequest(task, text, client) })
  return { peer, foothold, support, newWorker: () => startWorker(foothold, support) }
}

async function answerRequest(task: TaskContext, text: string, { model }: GigaChat) {
  const plan = await generate(task, 'plan', { model, prompt: text, schema: z.object({ шаги: z.array(z.string()) }) })
  const retry = { firstDelayMs: 1 }
  const reply = await generate(task, 'generate', { model, prompt: plan.шаги.join(), stream: true, retry })
  return { reply }
}

async function startWorker(foothold: Foothold, support: Parameters<Foothold['worker']>[0]['agents'][number]) {
  const worker = foothold.worker({ agents: [support], heartbeatMs: 500 })
  await worker.start()
  onTestFinished(async () => {
    await worker.drain({ graceMs: 0 })
  })
  return worker
}

test('a deploy in mid-stream closes the request, and the neighbour repeats that call alone', async () => {
  const { peer, foothold, support, newWorker } = await world((response, _request, count) => {
    if (count === 1) sse(response).write(delta({ content: 'Начало' }))
    else sse(response).end(streamOf('Заказ ', '№5501 в пути'))
  })
  const first = await newWorker()
  const planning = peer.arrival(CHAT)
  const handle = await foothold.submit(support, 'Где заказ?')
  await planning
  const replying = await peer.arrival(CHAT)

  await newWorker()
  await first.drain({ graceMs: 0 })
  await replying.aborted

  expect(await handle.result(RESULT)).toEqual({ reply: 'Заказ №5501 в пути' })
  expect(peer.to(CHAT)).toHaveLength(3)
  const detail = await foothold.task(handle.id)
  expect(detail?.attempts.map(({ reason }) => reason)).toEqual(['graceful_shutdown', 'completed'])
  expect(detail?.steps.map(({ key, usage }) => ({ key, usage }))).toEqual([
    { key: 'plan', usage: expect.objectContaining({ model: MODEL, inputTokens: 17, outputTokens: 42 }) },
    { key: 'generate', usage: expect.objectContaining({ model: MODEL, inputTokens: 17, outputTokens: 42 }) },
  ])
})

test('half an answer is never the result: the step is tried again and watchers see the first half superseded', async () => {
  const half = delta({ content: 'Договор заканчивается 12' })
  const { foothold, support, newWorker } = await world((response, _request, count) => {
    if (count === 1) sse(response).end(half)
    else sse(response).end(half + delta({ content: ' мая 2027 года' }) + delta({}, 'stop', USAGE) + DONE)
  })
  await newWorker()

  const handle = await foothold.submit(support, 'Когда?')
  const seen: string[] = []
  for await (const event of handle.watch()) {
    if (event.type === 'superseded') seen.length = 0
    if (event.type === 'chunk') seen.push(event.text)
  }

  expect(await handle.result(RESULT)).toEqual({ reply: 'Договор заканчивается 12 мая 2027 года' })
  expect(seen.join('')).toBe('Договор заканчивается 12 мая 2027 года')
  expect((await foothold.task(handle.id))?.steps.find(({ key }) => key === 'generate')?.tries).toBe(2)
})

test('a cancelled task ends its request at the provider', async () => {
  const { peer, foothold, support, newWorker } = await world((response) => {
    sse(response).write(delta({ content: 'Начало' }))
  })
  await newWorker()
  const planning = peer.arrival(CHAT)
  const handle = await foothold.submit(support, 'Где заказ?')
  await planning
  const replying = await peer.arrival(CHAT)

  await handle.cancel({ reason: 'клиент передумал' })

  await replying.aborted
  await expect(handle.result(RESULT)).rejects.toMatchObject({ code: 'TASK_CANCELLED' })
  expect(peer.to(CHAT)).toHaveLength(2)
})
