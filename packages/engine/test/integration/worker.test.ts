import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { RetryError, signal, TerminalError } from '../../src/index.ts'
import { agentOf, gate, setup, until } from './world.ts'

describe('a task', () => {
  test('runs its steps once, in order, and its result is what a resume would see', async () => {
    const { foothold, worker, query } = await setup()
    const calls: string[] = []
    const greeter = agentOf(async (task, input) => {
      const found = await task.step('найти', async () => {
        calls.push('найти')
        return { at: new Date(0), text: `Привет, ${String(input)} \u0000` }
      })
      return task.step('answer', () => {
        calls.push('answer')
        return { text: found.text, isDate: found.at instanceof Date }
      })
    })
    await worker([greeter])

    const handle = await foothold.submit(greeter, 'Анна')

    expect(await handle.result({ timeoutMs: 10_000 })).toEqual({ text: 'Привет, Анна \u0000', isDate: true })
    expect(calls).toEqual(['найти', 'answer'])
    expect(await query('select attempt, outcome, reason from foothold.attempts')).toEqual([
      { attempt: 1, outcome: 'completed', reason: 'completed' },
    ])
  })

  test('tries a failed step again under its own reason, and finished steps not', async () => {
    const { foothold, worker, query } = await setup()
    let first = 0
    let second = 0
    const flaky = agentOf(async (task) => {
      await task.step('first', () => {
        first += 1
      })
      return task.step(
        'second',
        ({ tries }) => {
          second += 1
          if (tries < 3) throw new RetryError('502 Bad Gateway', { reason: 'llm_unavailable' })
          return tries
        },
        { retry: { firstDelayMs: 10 } },
      )
    })
    await worker([flaky])

    const handle = await foothold.submit(flaky, null)

    expect(await handle.result({ timeoutMs: 10_000 })).toBe(3)
    expect({ first, second }).toEqual({ first: 1, second: 3 })
    expect(await query('select outcome, reason from foothold.attempts order by attempt')).toEqual([
      { outcome: 'waiting', reason: 'llm_unavailable' },
      { outcome: 'waiting', reason: 'llm_unavailable' },
      { outcome: 'completed', reason: 'completed' },
    ])
  })

  test('becomes a dead letter when a step fails for good, and resumes at the failed step', async () => {
    const { foothold, worker } = await setup()
    let isMended = false
    let first = 0
    const broken = agentOf(async (task) => {
      await task.step('first', () => {
        first += 1
      })
      return task.step('second', () => {
        if (!isMended) throw new TerminalError('нет такого заказа', { reason: 'crm_rejected' })
        return 'ok'
      })
    })
    await worker([broken])
    const handle = await foothold.submit(broken, null)
    await expect(handle.result({ timeoutMs: 10_000 })).rejects.toMatchObject({
      code: 'TASK_DEAD_LETTER',
      details: { reason: 'crm_rejected' },
    })

    isMended = true
    await foothold.resume(handle.id)

    expect(await handle.result({ timeoutMs: 10_000 })).toBe('ok')
    expect(first).toBe(1)
  })

  test('sleeps and waits for a signal without a slot', async () => {
    const { foothold, worker, query } = await setup()
    const paid = signal('paid', z.object({ amount: z.number() }))
    const waiter = agentOf(async (task) => {
      await task.sleep('nap', 50)
      const payment = await task.waitForSignal('payment', paid)
      const late = await task.waitForSignal('second', paid, { timeoutMs: 30 })
      return { amount: payment.amount, late }
    })
    const running = await worker([waiter], { concurrency: 1 })
    const handle = await foothold.submit(waiter, null)
    await until('the task waits for its signal', async () => {
      const [row] = await query<{ waiting_for: string }>('select waiting_for from foothold.tasks')
      return row?.waiting_for === 'signal' && running.running === 0
    })

    await foothold.sendSignal(handle.id, paid, { amount: 7 })

    expect(await handle.result({ timeoutMs: 10_000 })).toEqual({ amount: 7, late: null })
  })

  test('a step key used twice names both places', async () => {
    const { foothold, worker } = await setup()
    const twice = agentOf(async (task) => {
      await task.step('same', () => 1)
      return task.step('same', () => 2)
    })
    await worker([twice])

    const handle = await foothold.submit(twice, null)

    await expect(handle.result({ timeoutMs: 10_000 })).rejects.toThrow(
      /used twice.*worker\.test\.ts.*worker\.test\.ts/s,
    )
  })

  test('a drained worker hands its task over after the running step, free of charge', async () => {
    const { foothold, worker, query } = await setup()
    const started = gate()
    const finish = gate()
    const ran: string[] = []
    const long = agentOf(async (task) => {
      await task.step('one', async () => {
        ran.push('one')
        started.open()
        await finish.opened
      })
      return task.step('two', () => {
        ran.push('two')
        return 'done'
      })
    })
    const first = await worker([long])
    const handle = await foothold.submit(long, null)
    await started.opened

    const drained = first.drain()
    finish.open()
    expect((await drained).handedOver).toEqual([handle.id])
    expect(ran).toEqual(['one'])
    expect(
      await query('select status, last_reason, retry_count, crash_count, handover_count from foothold.tasks'),
    ).toEqual([
      { status: 'pending', last_reason: 'graceful_shutdown', retry_count: 0, crash_count: 0, handover_count: 1 },
    ])

    await worker([long])
    expect(await handle.result({ timeoutMs: 10_000 })).toBe('done')
    expect(ran).toEqual(['one', 'two'])
  })

  test('cancelled while it runs, it stops within two seconds', async () => {
    const { foothold, worker } = await setup()
    const started = gate()
    let reason: unknown
    const endless = agentOf((task) =>
      task.step('forever', async ({ signal }) => {
        started.open()
        await new Promise((resolve) => signal.addEventListener('abort', resolve))
        reason = signal.reason
      }),
    )
    await worker([endless])
    const handle = await foothold.submit(endless, null)
    await started.opened
    const at = Date.now()

    expect(await handle.cancel({ reason: 'клиент передумал' })).toMatchObject({ outcome: 'requested' })

    await expect(handle.result({ timeoutMs: 10_000 })).rejects.toMatchObject({ code: 'TASK_CANCELLED' })
    expect(Date.now() - at).toBeLessThan(2_500)
    expect(reason).toMatchObject({ code: 'ATTEMPT_ENDED', details: { reason: 'cancelled' } })
  })
})
