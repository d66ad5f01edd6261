import { describe, expect, inject, test } from 'vitest'
import { z } from 'zod'
import { type Agent, agent, signal, type TaskContext } from '../../src/index.ts'
import { KillsNotSurvivedError, surviveKills } from '../../src/testing/index.ts'

const paid = signal('paid', z.object({ amount: z.number() }))
const adminUrl = (): string => inject('postgresUrl')

/** What the outside world has: one entry for each thing that was done. */
interface Outside {
  readonly done: { readonly task: string; readonly key: string }[]
}

function agentOf<Output>(run: (task: TaskContext, amount: number) => Promise<Output>): Agent<string, number, Output> {
  return agent({ name: 'billing', input: z.number(), run: run as never })
}

const send =
  (outside: Outside, task: TaskContext) =>
  async (_request: unknown, { idempotencyKey }: { readonly idempotencyKey: string }): Promise<string> => {
    outside.done.push({ task: task.id, key: idempotencyKey })
    return 'sent'
  }

const outsideOf = (outside: Outside, keeps: 'keys' | 'nothing' = 'nothing') => ({
  before: () => void outside.done.splice(0),
  outside: ({ id }: { readonly id: string }) => {
    const own = outside.done.filter(({ task }) => task === id)
    return keeps === 'keys' ? [...new Set(own.map(({ key }) => key))] : own
  },
})

describe('an agent that keeps to the rules', () => {
  test('survives a kill at every point of every kind of step, and the report names each', {
    timeout: 90_000,
  }, async () => {
    const outside: Outside = { done: [] }
    const billing = agentOf(async (task, amount) => {
      const customer = await task.step('customer', () => ({ name: 'ООО «Вектор»' }))
      await task.sleep('three days', 3 * 86_400_000)
      const payment = await task.waitForSignal('payment', paid)
      const receipt = await task.effect('receipt', { request: { amount }, onDoubt: 'ask', send: send(outside, task) })
      await task.transaction('book', async (sql) => (await sql.query('select 1 as one')).rows)
      return `${customer.name}: ${payment.amount} (${receipt.length})`
    })

    const report = await surviveKills(billing, 7, {
      adminUrl: adminUrl(),
      ...outsideOf(outside),
      meanwhile: ({ id, foothold }) => foothold.sendSignal(id, paid, { amount: 7 }, { dedupeKey: 'once' }),
    })

    const names = report.outcomes.map(({ point, key }) => `${point} ${key ?? ''}`.trim())
    expect(names).toEqual(
      expect.arrayContaining([
        'claim.answered',
        'step.ran customer',
        'intent.stored receipt',
        'effect.answered receipt',
        'park.before',
        'transaction.committed book',
        'complete.before',
        'complete.after',
      ]),
    )
    expect(report.outcomes.filter(({ problem }) => problem !== null)).toEqual([])
    expect(report.text).toMatch(/^billing: killed at (\d+) points, survived \1\n/)
  })
})

describe('an agent that does not survive is told where', () => {
  const failing = (billing: Agent<string, number, unknown>, outside: Outside): Promise<KillsNotSurvivedError> =>
    surviveKills(billing, 7, { adminUrl: adminUrl(), timeoutMs: 10_000, ...outsideOf(outside) }).then(
      () => expect.fail('it survived'),
      (error: unknown) => error as KillsNotSurvivedError,
    )

  test('a find() that does not find', { timeout: 60_000 }, async () => {
    const outside: Outside = { done: [] }
    const error = await failing(
      agentOf((task, amount) =>
        task.effect('invoice', {
          request: { amount },
          findLagMs: 0,
          find: async () => null,
          send: send(outside, task),
        }),
      ),
      outside,
    )

    expect(error).toBeInstanceOf(KillsNotSurvivedError)
    expect(error.message).toMatch(/^killed at effect\.answered "invoice" it did not survive/)
    expect(error.report?.outcomes.find(({ point }) => point === 'effect.answered')?.problem).toMatch(
      /2 things done, 1 undisturbed|done 2 times/,
    )
    // Elsewhere it does.
    expect(error.report?.outcomes.find(({ point }) => point === 'intent.stored')?.problem).toBeNull()
  })

  test('an action outside of the steps', { timeout: 60_000 }, async () => {
    const outside: Outside = { done: [] }
    const error = await failing(
      agentOf(async (task, amount) => {
        outside.done.push({ task: task.id, key: 'no key' })
        return task.step('add', () => amount + 1)
      }),
      outside,
    )

    expect(error.message).toMatch(/the outside world has 2 things done, 1 undisturbed/)
  })

  test('a way that is another one each time', { timeout: 60_000 }, async () => {
    let runs = 0
    const error = await failing(
      agentOf(async (task) => {
        runs += 1
        await task.step(`step of run ${runs}`, () => 1)
        return runs
      }),
      { done: [] },
    )

    expect(error.message).toMatch(/another output|did not come by here again/)
  })

  test('one that does not complete at all', async () => {
    const error = await failing(
      agentOf((task) =>
        task.step('broken', () => Promise.reject(new Error('не вышло')), { retry: { attemptsMax: 1 } }),
      ),
      { done: [] },
    )

    expect(error.message).toMatch(/^billing undisturbed: it ended as dead_letter, step_failed/)
    expect(error.report).toBeNull()
  })
})
