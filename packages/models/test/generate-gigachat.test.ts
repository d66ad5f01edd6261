import { expect, test } from 'vitest'
import { z } from 'zod'
import { generate } from '../src/index.ts'
import { answer, CHAT, delta, json, MODEL, setup, sse, streamOf } from './gigachat-peer.ts'
import { memoryTask } from './memory-task.ts'

test('a streamed answer of GigaChat is a step with its chunks and its cost', async () => {
  const { task, chunks, usages } = memoryTask()
  const { client, peer } = await setup({ [CHAT]: (response) => sse(response).end(streamOf('Заказ ', '№5501 в пути')) })

  const text = await generate(task, 'generate', { model: client.model, prompt: 'Где заказ 5501?', stream: true })

  expect(text).toBe('Заказ №5501 в пути')
  expect(chunks.map(({ chunk }) => chunk).join('')).toBe(text)
  expect(usages.at(-1)).toEqual({ model: MODEL, inputTokens: 17, outputTokens: 42, isEstimated: false })
  expect(peer.to(CHAT)[0]?.headers['x-session-id']).toBe(task.id)
})

test('a structured answer of GigaChat is asked for by response_format', async () => {
  const { task } = memoryTask()
  const { client, peer } = await setup({ [CHAT]: (response) => json(response, answer({ content: '{"язык":"ru"}' })) })

  const value = await generate(task, 'plan', {
    model: client.model,
    prompt: 'план',
    schema: z.object({ язык: z.string() }),
  })

  expect(value).toEqual({ язык: 'ru' })
  expect(peer.to(CHAT)[0]?.json.response_format).toMatchObject({ type: 'json_schema', strict: true })
})

test('GigaChat that falls silent in mid-stream is given up and its request closed', async () => {
  const { task, usages } = memoryTask()
  const { client, peer } = await setup({
    // A gateway's keep-alive is no word of the model.
    [CHAT]: (response) => {
      sse(response).write(delta({ content: 'Начало' }))
      const ping = setInterval(() => response.write(': ping\n\n'), 20)
      response.on('close', () => clearInterval(ping))
    },
  })
  const arrival = peer.arrival(CHAT)

  const text = generate(task, 'generate', { model: client.model, prompt: 'Привет', idleTimeoutMs: 2_000 })

  await expect(text).rejects.toMatchObject({ reason: 'llm_unavailable', message: 'GigaChat-2-Pro: no data for 2 s.' })
  await (await arrival).aborted
  expect(usages.at(-1)).toMatchObject({ outputTokens: 2, isEstimated: true })
})
