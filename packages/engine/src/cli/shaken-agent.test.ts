import { expect, test } from 'vitest'
import { agent } from '../protocol/agent.ts'
import type { TaskContext } from '../protocol/task-context.ts'
import { shakenAgent } from './shaken-agent.ts'

/** A context that keeps results as the engine does, and counts how often each step was carried out. */
function engine(): { readonly task: TaskContext; readonly carriedOut: string[] } {
  const carriedOut: string[] = []
  const task = {
    id: 'one',
    step: async (key: string, run: (context: object) => unknown) => {
      carriedOut.push(key)
      return run({})
    },
    effect: async (key: string, { request, send }: { request: unknown; send: (request: unknown) => unknown }) => {
      carriedOut.push(key)
      return send(request)
    },
    sleep: async (key: string) => void carriedOut.push(key),
  }
  return { task: task as unknown as TaskContext, carriedOut }
}

const anything = { '~standard': { version: 1, vendor: 'test', validate: (value: unknown) => ({ value }) } } as const

async function shake(
  run: (task: TaskContext, input: { amount: number }) => Promise<unknown>,
): Promise<{ output: unknown; told: string[]; carriedOut: readonly string[] }> {
  const told: string[] = []
  const { task, carriedOut } = engine()
  const shaken = shakenAgent(agent({ name: 'test', input: anything, run: run as never }), ({ what, said }) =>
    told.push(`${what}: ${said}`),
  )
  const output = await shaken['~code'].run(task, { amount: 7 })
  return { output, told, carriedOut }
}

const effect = (request: unknown) => ({ request, onDoubt: 'ask' as const, send: async () => 'done' })

test('an agent that keeps to the rules is carried out once, and nothing is told', async () => {
  let runs = 0
  const { output, told, carriedOut } = await shake(async (task, { amount }) => {
    runs += 1
    const plan = await task.step('plan', () => ({ calls: ['a', 'b'] }))
    const answers = await Promise.all(plan.calls.map((call) => task.effect(`call:${call}`, effect({ call, amount }))))
    await task.sleep('rest', 10)
    return `${plan.calls.length} ${answers.join(' ')}`
  })

  expect(output).toBe('2 done done')
  expect(told).toEqual([])
  expect(carriedOut).toEqual(['plan', 'call:a', 'call:b', 'rest'])
  expect(runs).toBeGreaterThan(4)
})

test('a step whose key follows the clock is another step', async () => {
  let n = 0
  const { told } = await shake(async (task) => {
    n += 1
    await task.step(`step ${n}`, () => 1)
    return null
  })

  expect(told).toEqual(['steps: call 1 was "step 1", and now "step 2"'])
})

test('a way that depends on what is remembered in the process leaves a stored step behind', async () => {
  let isFirst = true
  const { told } = await shake(async (task) => {
    await Promise.all([task.step('a', () => 1), task.step('b', () => 2)])
    if (isFirst) {
      isFirst = false
      await task.step('greet', () => 'hello')
    }
    return null
  })

  expect(told).toEqual(['steps: "greet" is stored, and the run that came to the end did not ask for it'])
})

test('a request made of something that is not stored is another input', async () => {
  let n = 0
  const { told } = await shake(async (task) => {
    n += 1
    await task.effect('order', effect({ number: n }))
    return null
  })

  expect(told).toEqual(['input: effect "order" was given {"number":1}, and now {"number":2}'])
})

test('a result that was changed after it was given is not what a resume would see', async () => {
  const { told } = await shake(async (task) => {
    const list = await task.step('list', () => [1])
    await task.effect('order', effect(list))
    list.push(list.length)
    return Math.random()
  })

  expect(told[0]).toMatch(/^output: it returned 0\.\d+, and when it was run again 0\.\d+$/)
})

test('a step that fails for good fails the same way, and the agent may go on', async () => {
  const { output, told } = await shake(async (task) => {
    const first = await task.step('broken', () => Promise.reject(new Error('не вышло'))).catch(() => 'instead')
    return `${first} ${await task.step('next', () => 1)}`
  })

  expect(output).toBe('instead 1')
  expect(told).toEqual([])
})
