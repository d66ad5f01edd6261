import { expect, test } from 'vitest'
import { z } from 'zod'
import { agentRef, signal, TerminalError } from '../../src/index.ts'
import { agent } from '../../src/protocol/agent.ts'
import type { TaskEvent } from '../../src/protocol/views.ts'
import { agentOf, gate, setup, until } from './world.ts'

/** What people do to tasks, with a worker that carries it out. */

const paid = signal('paid', z.object({ amount: z.number() }))

test('a resume after a failed step sends no effect again; a restart from it does, and says so before', async () => {
  const world = await setup()
  const { foothold } = world
  const sent: string[] = []
  let isModelDown = true
  const support = agentOf(async (task) => {
    await task.step('plan', () => 1)
    await task.effect('tool_call:1', {
      onDoubt: 'repeat',
      request: { title: 'Сделка' },
      send: async (request) => {
        sent.push(request.title)
        return { deal: 1 }
      },
    })
    return task.step('generate', () => {
      if (isModelDown) throw new TerminalError('модель не отвечает', { reason: 'llm_refused' })
      return 'Готово'
    })
  })
  await world.worker([support])
  const handle = await foothold.submit(support, null)
  await expect(handle.result({ timeoutMs: 15_000 })).rejects.toMatchObject({ code: 'TASK_DEAD_LETTER' })
  isModelDown = false

  await Promise.allSettled([foothold.resume(handle.id), foothold.resume(handle.id)])

  expect(await handle.result({ timeoutMs: 15_000 })).toBe('Готово')
  expect(sent).toEqual(['Сделка'])
  expect((await foothold.task(handle.id))?.attempts.map((a) => a.outcome)).toEqual(['dead_letter', 'completed'])

  const report = await foothold.restart(handle.id, { from: 'tool_call:1' })

  expect(report).toEqual({ forgotten: ['tool_call:1', 'generate'], repeatedEffects: ['tool_call:1'] })
  expect(await handle.result({ timeoutMs: 15_000 })).toBe('Готово')
  expect(sent).toEqual(['Сделка', 'Сделка'])
})

test.for([
  ['done', 1],
  ['not_done', 2],
] as const)(
  'an effect whose outcome nobody knows waits for a person; after "%s" it has been sent %i times',
  async ([outcome, times]) => {
    const world = await setup()
    const { foothold } = world
    const keys: string[] = []
    const asking = agentOf((task) =>
      task.effect('звонок', {
        onDoubt: 'ask',
        request: {},
        send: async (_request, { idempotencyKey }) => {
          keys.push(idempotencyKey)
          if (keys.length === 1) throw new Error('связь оборвалась')
          return 'дозвонились'
        },
      }),
    )
    await world.worker([asking])
    const handle = await foothold.submit(asking, null)
    await until('the task waits for a person', async () => (await foothold.task(handle.id))?.waitingFor === 'person')

    const decision = outcome === 'done' ? { outcome, result: 'дозвонились', by: 'Анна' } : { outcome, by: 'Анна' }
    await foothold.decide(handle.id, 'звонок', decision)

    expect(await handle.result({ timeoutMs: 15_000 })).toBe('дозвонились')
    expect(keys).toHaveLength(times)
    expect(new Set(keys).size).toBe(times)
  },
)

test('a restart from a wait takes the signal that it had taken, without a new one', async () => {
  const world = await setup()
  const { foothold } = world
  const waiting = agentOf(async (task) => {
    await task.step('before', () => 1)
    const { amount } = await task.waitForSignal('оплата', paid)
    return task.step('after', () => amount * 2)
  })
  await world.worker([waiting])
  const handle = await foothold.submit(waiting, null)
  await until('the task waits', async () => (await foothold.task(handle.id))?.waitingFor === 'signal')
  await foothold.sendSignal(handle.id, paid, { amount: 21 })
  expect(await handle.result({ timeoutMs: 15_000 })).toBe(42)

  expect((await foothold.restart(handle.id, { from: 'оплата' })).forgotten).toEqual(['оплата', 'after'])

  expect(await handle.result({ timeoutMs: 15_000 })).toBe(42)
})

test('a signal does not cut short another wait of its task', async () => {
  const world = await setup()
  const { foothold } = world
  const sleeper = agentOf((task) => task.sleep('ночь', 3_600_000))
  await world.worker([sleeper])
  const handle = await foothold.submit(sleeper, null)
  const asleep = await until('the task sleeps', async () => {
    const task = await foothold.task(handle.id)
    return task?.waitingFor === 'sleep' ? task : null
  })

  await foothold.sendSignal(handle.id, paid, { amount: 1 })

  const again = await until('the task sleeps again', async () => {
    const task = await foothold.task(handle.id)
    return task?.waitingFor === 'sleep' && task.attempt > asleep.attempt ? task : null
  })
  // The worker counts what is left by its own clock: the same moment, but for the time of a few statements.
  expect(Math.abs((again.wakeAt as Date).getTime() - (asleep.wakeAt as Date).getTime())).toBeLessThan(10_000)
})

test('a task submitted by name is checked by its worker, once, and a refused one is a dead letter', async () => {
  const world = await setup()
  const { foothold } = world
  let checks = 0
  const strict = agent({
    name: 'strict',
    input: z.object({
      at: z.iso.datetime().transform((text) => {
        checks += 1
        return new Date(text)
      }),
    }),
    run: async (task, { at }) => task.step('year', () => at.getUTCFullYear()),
  })
  await world.worker([strict])

  const right = await foothold.submit(agentRef<typeof strict>('strict'), { at: '2026-12-02T00:00:00Z' })
  const wrong = await foothold.submit('strict', { at: 'вчера' })

  expect(await right.result({ timeoutMs: 15_000 })).toBe(2026)
  expect(checks).toBe(1)
  await expect(wrong.result({ timeoutMs: 15_000 })).rejects.toMatchObject({
    code: 'TASK_DEAD_LETTER',
    details: { reason: 'input_invalid' },
  })
})

test('the viewers of a stream that comes from a worker see all of it, in order, wherever they begin', async () => {
  const world = await setup()
  const { foothold } = world
  const half = gate()
  const words = Array.from({ length: 40 }, (_, index) => `слово-${index} `)
  const talker = agentOf((task) =>
    task.step('generate', async ({ emit }) => {
      for (const word of words.slice(0, 20)) emit('text', word)
      await half.opened
      for (const word of words.slice(20)) emit('text', word)
      return words.join('')
    }),
  )
  await world.worker([talker])
  const handle = await foothold.submit(talker, null)
  const textOf = (events: readonly TaskEvent[]): string =>
    events.map((event) => (event.type === 'chunk' ? event.text : '')).join('')

  const seen: TaskEvent[] = []
  let cursor = ''
  for await (const event of handle.watch()) {
    seen.push(event)
    if (event.type === 'chunk') cursor = event.cursor
    // The tab closes at half of the stream.
    if (textOf(seen) === words.slice(0, 20).join('')) break
  }
  half.open()
  const rest: TaskEvent[] = []
  for await (const event of handle.watch({ after: cursor })) rest.push(event)
  const whole: TaskEvent[] = []
  for await (const event of handle.watch()) whole.push(event)

  expect(textOf(seen) + textOf(rest)).toBe(words.join(''))
  expect(textOf(whole)).toBe(words.join(''))
  expect(seen).toContainEqual(expect.objectContaining({ type: 'step', key: 'generate', status: 'running' }))
  expect(rest.at(-1)).toMatchObject({ type: 'status', status: 'completed' })
})
