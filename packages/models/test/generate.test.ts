import { ReasonedError, RetryError } from 'foothold'
import { expect, expectTypeOf, test, vi } from 'vitest'
import { generate } from '../src/index.ts'
import type { LlmEvent } from '../src/port.ts'
import { memoryTask } from './memory-task.ts'
import { says, scriptedModel, untilAbort } from './scripted-model.ts'

const finish: LlmEvent = { type: 'finish', reason: 'stop', model: 'scripted:1' }

test('the answer is stored once and not paid for again', async () => {
  const { task, stored } = memoryTask()
  const model = scriptedModel(['Заказ ', '5501 в пути'])

  const first = await generate(task, 'generate', { model, prompt: 'Где заказ?' })
  const again = await generate(task, 'generate', { model, prompt: 'Где заказ?' })

  expectTypeOf(first).toEqualTypeOf<string>()
  expect([first, again]).toEqual(['Заказ 5501 в пути', 'Заказ 5501 в пути'])
  expect(stored.get('generate')).toBe('Заказ 5501 в пути')
  expect(model.requests).toHaveLength(1)
})

test('the model gets the system message first, the task as its session and a key for each try', async () => {
  const { task } = memoryTask()
  const model = scriptedModel(() => failing(new RetryError('занято', { reason: 'llm_rate_limited' })), ['да'])
  const options = { model, system: 'Ты помощник', prompt: 'Привет', temperature: 0.2, maxOutputTokens: 100 }

  await expect(generate(task, 'g', options)).rejects.toThrow('занято')
  await generate(task, 'g', options)

  expect(model.requests[1]).toEqual({
    messages: [
      { role: 'system', content: 'Ты помощник' },
      { role: 'user', content: 'Привет' },
    ],
    temperature: 0.2,
    maxOutputTokens: 100,
    stream: true,
  })
  expect(model.calls.map((call) => call.sessionId)).toEqual([task.id, task.id])
  expect(model.calls.map((call) => call.idempotencyKey)).toEqual([`${task.id}:g:1`, `${task.id}:g:2`])
})

test('pieces are shown as they come when asked for, and only then', async () => {
  const { task, chunks } = memoryTask()
  const model = scriptedModel(['раз ', 'два'], ['три'])

  await generate(task, 'shown', { model, prompt: 'а', stream: true })
  await generate(task, 'quiet', { model, prompt: 'б' })

  expect(chunks).toEqual([
    { channel: 'text', chunk: 'раз ' },
    { channel: 'text', chunk: 'два' },
  ])
})

test('the tokens of the answer are recorded with the exact model', async () => {
  const { task, usages } = memoryTask()

  await generate(task, 'g', { model: scriptedModel(['да']), prompt: 'а' })

  expect(usages.at(-1)).toEqual({ model: 'scripted:1', inputTokens: 10, outputTokens: 5, isEstimated: false })
})

test('an aborted call counts its tokens by estimate and ends with the reason', async () => {
  const { task, usages, abort, chunks } = memoryTask()
  const model = scriptedModel(async function* (signal) {
    yield { type: 'text', text: 'Половина ответа' }
    await untilAbort(signal)
  })
  const answer = generate(task, 'g', { model, prompt: 'семь бук', stream: true })
  await vi.waitFor(() => expect(chunks).toHaveLength(1))

  abort(new Error('Развёртывание'))

  await expect(answer).rejects.toThrow('Развёртывание')
  expect(usages).toEqual([{ model: 'scripted', inputTokens: 3, outputTokens: 5, isEstimated: true }])
})

test('an abort before the first word counts what was asked', async () => {
  const { task, usages, abort } = memoryTask()
  const model = scriptedModel((signal) => silent(signal))
  const answer = generate(task, 'g', { model, prompt: 'семь бук' })
  await vi.waitFor(() => expect(model.requests).toHaveLength(1))

  abort(new Error('Развёртывание'))

  await expect(answer).rejects.toThrow('Развёртывание')
  expect(usages).toEqual([{ model: 'scripted', inputTokens: 3, outputTokens: 0, isEstimated: true }])
})

test('a refusal before the first word costs nothing', async () => {
  const { task, usages } = memoryTask()
  const model = scriptedModel(() => failing(new RetryError('занято', { reason: 'llm_rate_limited' })))

  await expect(generate(task, 'g', { model, prompt: 'а' })).rejects.toThrow('занято')

  expect(usages).toEqual([])
})

test('usage that the provider said before an error is recorded as said', async () => {
  const { task, usages } = memoryTask()
  const model = scriptedModel(async function* () {
    yield { type: 'usage', inputTokens: 100, outputTokens: 1000, raw: null }
    throw new ReasonedError('длинно', { reason: 'llm_incomplete' })
  })

  await expect(generate(task, 'g', { model, prompt: 'а' })).rejects.toThrow('длинно')

  expect(usages).toEqual([{ model: 'scripted', inputTokens: 100, outputTokens: 1000, isEstimated: false }])
})

test.each([
  ['says nothing at all', 0],
  ['falls silent after three pieces', 3],
])('a model that %s is given up as unavailable', async (_what, pieces) => {
  const { task, stored, usages } = memoryTask()
  let aborted = false
  const model = scriptedModel(async function* (signal) {
    for (let piece = 0; piece < pieces; piece++) yield { type: 'text', text: 'слово ' }
    await untilAbort(signal).finally(() => {
      aborted = true
    })
  })

  const answer = generate(task, 'g', { model, prompt: 'а', idleTimeoutMs: 50 })

  await expect(answer).rejects.toMatchObject({ reason: 'llm_unavailable', message: 'scripted: no data for 0.05 s.' })
  expect(aborted).toBe(true)
  expect(usages).toEqual([{ model: 'scripted', inputTokens: 1, outputTokens: pieces * 2, isEstimated: true }])
  expect(stored.has('g')).toBe(false)
})

test('a model that ignores its signal cannot hold the step', async () => {
  const { task } = memoryTask()
  const model = scriptedModel(() => ({
    [Symbol.asyncIterator]: () => ({ next: () => new Promise<never>(() => undefined) }),
  }))

  await expect(generate(task, 'g', { model, prompt: 'а', idleTimeoutMs: 50 })).rejects.toMatchObject({
    reason: 'llm_unavailable',
  })
})

test('a lively stream is not cut, however long it lasts altogether', async () => {
  vi.useFakeTimers()
  try {
    const { task } = memoryTask()
    const model = scriptedModel(async function* () {
      for (let piece = 0; piece < 120; piece++) {
        await vi.advanceTimersByTimeAsync(5_000)
        yield { type: piece % 2 === 0 ? 'text' : 'reasoning', text: 'я' }
      }
      yield* says('.')
    })

    expect(await generate(task, 'g', { model, prompt: 'а', idleTimeoutMs: 12_000 })).toBe(`${'я'.repeat(60)}.`)
  } finally {
    vi.useRealTimers()
  }
})

test.each([
  ['without a finish', [{ type: 'text', text: 'Договор до 12' }], 'without a finish'],
  ['without a text', [{ type: 'text', text: ' ' }, finish], 'empty'],
  [
    'with a call of a function that nobody offered',
    [{ type: 'function_call', name: 'pay', arguments: {}, stateId: null }, finish],
    'pay',
  ],
] satisfies [string, LlmEvent[], string][])('an answer %s is never stored', async (_what, events, words) => {
  const { task, stored } = memoryTask()
  const model = scriptedModel(async function* () {
    yield* events
  })

  await expect(generate(task, 'g', { model, prompt: 'а' })).rejects.toMatchObject({
    reason: 'llm_incomplete',
    message: expect.stringContaining(words),
  })
  expect(stored.size).toBe(0)
})

test('the limits of the whole try and of retries are the step’s', async () => {
  const { task, options } = memoryTask()
  const retry = { attemptsMax: 2 }

  await generate(task, 'a', { model: scriptedModel(['да']), prompt: 'а' })
  await generate(task, 'b', { model: scriptedModel(['да']), prompt: 'а', totalTimeoutMs: 5_000, retry, version: 2 })

  expect(options).toEqual([{ timeoutMs: 900_000 }, { timeoutMs: 5_000, retry, version: 2 }])
})

test.each([
  [{ prompt: 'а', messages: [] }, 'generate.prompt'],
  [{}, 'generate.prompt'],
  [{ messages: [] }, 'generate.prompt'],
  [{ system: 'а', messages: [{ role: 'system', content: 'б' }] }, 'generate.system'],
  [{ prompt: 'а', idleTimeoutMs: 0 }, 'generate.idleTimeoutMs'],
  [{ prompt: 'а', totalTimeoutMs: Number.POSITIVE_INFINITY }, 'generate.totalTimeoutMs'],
])('the options %j are refused before a step begins', async (options, field) => {
  const { task } = memoryTask()

  await expect(generate(task, 'g', { model: scriptedModel(), ...options } as never)).rejects.toMatchObject({
    code: 'INVALID_ARGUMENT',
    details: { field },
  })
})

// oxlint-disable-next-line require-yield -- it is silent
async function* silent(signal: AbortSignal): AsyncGenerator<LlmEvent> {
  await untilAbort(signal)
}

// oxlint-disable-next-line require-yield -- it fails before its first word
async function* failing(error: Error): AsyncGenerator<LlmEvent> {
  throw error
}
