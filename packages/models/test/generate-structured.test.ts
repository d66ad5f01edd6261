import type { StandardSchema } from 'foothold'
import * as v from 'valibot'
import { expect, expectTypeOf, test } from 'vitest'
import { z } from 'zod'
import { generate } from '../src/index.ts'
import { memoryTask } from './memory-task.ts'
import { scriptedModel } from './scripted-model.ts'

const Plan = z.object({
  language: z.string(),
  calls: z.array(z.object({ id: z.string(), order_id: z.string() })),
})
const PLAN = { language: 'ru', calls: [{ id: 'order-5501', order_id: '5501' }] }
const TEXT = JSON.stringify(PLAN)

test('an answer that fits the schema is its output, in its type', async () => {
  const { task, stored } = memoryTask()
  const model = scriptedModel([TEXT.slice(0, 20), TEXT.slice(20)])

  const plan = await generate(task, 'plan', { model, prompt: 'план', schema: Plan })

  expectTypeOf(plan).toEqualTypeOf<z.output<typeof Plan>>()
  expect(plan).toEqual(PLAN)
  expect(stored.get('plan')).toEqual(PLAN)
})

test('the model is told the shape of the schema’s input', async () => {
  const { task } = memoryTask()
  const model = scriptedModel(['{"at":"2026-12-02"}'])
  const schema = z.object({ at: z.string().transform((text) => new Date(text)), urgent: z.boolean().default(false) })

  const value = await generate(task, 'g', { model, prompt: 'а', schema })

  expect(value).toEqual({ at: new Date('2026-12-02'), urgent: false })
  expect(model.requests[0]?.responseSchema).toEqual({
    type: 'object',
    properties: { at: { type: 'string' }, urgent: { type: 'boolean', default: false } },
    required: ['at'],
  })
})

test.each([
  ['in a fence', `Вот план:\n\`\`\`json\n${TEXT}\n\`\`\`\nГотово.`],
  ['in a fence without a language, with CRLF', `\`\`\`\r\n${TEXT}\r\n\`\`\``],
  ['after a remark in brackets', `[черновик] ${TEXT}`],
  ['between sentences', `План такой: ${TEXT} — выполняю.`],
  ['with blanks around', `\n  ${TEXT}\n`],
])('a document %s is found', async (_where, text) => {
  const { task } = memoryTask()

  expect(await generate(task, 'plan', { model: scriptedModel([text]), prompt: 'план', schema: Plan })).toEqual(PLAN)
})

test('an answer made to stall the reader is refused quickly', async () => {
  const { task } = memoryTask()
  const nasty = '```\n'.repeat(50_000) + '\n'.repeat(100_000) + '{['.repeat(50_000)
  const model = scriptedModel([nasty], [nasty])

  const startedAt = performance.now()
  await expect(generate(task, 'plan', { model, prompt: 'план', schema: Plan })).rejects.toThrow('not one JSON document')

  expect(performance.now() - startedAt).toBeLessThan(5_000)
})

test('an id beyond 2^53 keeps its digits', async () => {
  const { task } = memoryTask()
  const schema = z.object({ id: z.string() })

  const value = await generate(task, 'g', {
    model: scriptedModel(['{"id": 9007199254740993}']),
    prompt: 'а',
    schema,
  })

  expect(value).toEqual({ id: '9007199254740993' })
})

test('an answer that does not fit is asked for once more in the same try, with its problems told', async () => {
  const { task, usages, options } = memoryTask()
  const wrong = '{"language":"ru","calls":[{"id":"order-5501"}]}'
  const model = scriptedModel([wrong], [TEXT])

  const plan = await generate(task, 'plan', { model, system: 'Ты планировщик', prompt: 'план', schema: Plan })

  expect(plan).toEqual(PLAN)
  expect(options).toHaveLength(1)
  const [first, second] = model.requests
  expect(second?.messages.slice(0, 2)).toEqual(first?.messages)
  expect(second?.messages[2]).toEqual({ role: 'assistant', content: wrong })
  expect(second?.messages[3]?.content).toContain('- calls.0.order_id: Invalid input: expected string')
  expect(new Set(model.calls.map((call) => call.idempotencyKey)).size).toBe(2)
  expect(usages.at(-1)).toMatchObject({ inputTokens: 20, outputTokens: 10 })
})

test.each([
  ['another shape', '{"language":5}', 'language: Invalid input'],
  ['no JSON', 'Не могу составить план.', 'not one JSON document'],
  ['half a document', TEXT.slice(0, -5), 'not one JSON document'],
])('an answer that stays %s is incomplete and not stored', async (_what, text, words) => {
  const { task, stored } = memoryTask()
  const model = scriptedModel([text], [text])

  await expect(generate(task, 'plan', { model, prompt: 'план', schema: Plan })).rejects.toMatchObject({
    reason: 'llm_incomplete',
    message: expect.stringContaining(words),
  })
  expect(stored.size).toBe(0)
  expect(model.requests).toHaveLength(2)
})

test('a schema of any library serves, with the JSON Schema given beside it', async () => {
  const { task } = memoryTask()
  const model = scriptedModel(['{"номер":"5501"}'])
  const jsonSchema = { type: 'object', properties: { номер: { type: 'string' } } }

  const value = await generate(task, 'g', { model, prompt: 'а', schema: v.object({ номер: v.string() }), jsonSchema })

  expectTypeOf(value).toEqualTypeOf<{ номер: string }>()
  expect(value).toEqual({ номер: '5501' })
  expect(model.requests[0]?.responseSchema).toBe(jsonSchema)
})

test('a schema that cannot describe itself is refused, with the cure', async () => {
  const { task } = memoryTask()
  const call = (schema: StandardSchema) => generate(task, 'g', { model: scriptedModel(), prompt: 'а', schema })

  await expect(call(v.object({}))).rejects.toThrow(
    'generate.schema: no JSON Schema can be derived from this valibot schema. Pass jsonSchema beside it.',
  )
  await expect(call(z.object({ at: z.date() }))).rejects.toThrow('Pass jsonSchema beside it.')
})

test('a stream with a schema is refused by the type and at run time', async () => {
  const { task } = memoryTask()

  const options = { model: scriptedModel(), prompt: 'а', schema: Plan, stream: true } as const

  // @ts-expect-error half a document is nothing to show
  await expect(generate(task, 'g', options)).rejects.toThrow('generate.stream')
})
