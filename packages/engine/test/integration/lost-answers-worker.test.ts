import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { ReasonedError, signal } from '../../src/index.ts'
import { startCuttingProxy } from './cutting-proxy.ts'
import { agentOf, setup, until } from './world.ts'

/**
 * The connection breaks while a worker's statement is under way, before or after the server has carried it out. The task
 * goes through every kind of statement and must come out as if nothing had happened.
 */

const approved = signal('approved', z.object({ by: z.string() }))

/** Words that stand in one statement only. */
const STATEMENTS = {
  claim: 'for no key update skip locked) t',
  load: 'as "deadlineInMs"',
  'step batch': 'with ordinality v(id, attempt, key, kind',
  intent: `$4, 'effect', $5, 'intent'`,
  takeover: `set status = 'intent', attempt = $2`,
  wait: `set status = 'waiting', worker_id = null`,
  promote: 'order by wake_at limit',
  'taking a signal': 'update foothold.signals set consumed_by',
  'commit of a transaction': 'commit',
  complete: `set status = 'completed', worker_id = null`,
} as const

interface Counts {
  step: number
  sends: string[]
  transaction: number
}

function tourAgent(counts: Counts) {
  return agentOf(async (task) => {
    await task.step('план', () => {
      counts.step += 1
    })
    const deal = await task.effect('сделка', {
      request: { title: 'Возврат' },
      keyWindowMs: 60_000,
      retry: { firstDelayMs: 10, delayMaxMs: 10 },
      send: async (_request, { idempotencyKey }) => {
        counts.sends.push(idempotencyKey)
        if (counts.sends.length === 1) throw new ReasonedError('socket hang up', { reason: 'crm_unavailable' })
        return 55
      },
    })
    await task.sleep('пауза', 20)
    const { by } = await task.waitForSignal('ждём', approved)
    return task.transaction('запись', async (sql) => {
      counts.transaction += 1
      await sql.query('insert into books (task, text) values ($1, $2)', [task.id, `${by}: ${deal}`])
      return `${by}: ${deal}`
    })
  })
}

describe.for(['before', 'after'] as const)('when the connection breaks %s the statement is carried out', (when) => {
  test.for(Object.entries(STATEMENTS))('a lost answer to the %s changes nothing', async ([, text]) => {
    const world = await setup()
    await world.query('create table books (task uuid, text text)')
    const counts: Counts = { step: 0, sends: [], transaction: 0 }
    const tour = tourAgent(counts)
    await using proxy = await startCuttingProxy(world.url)
    const started = await world.workerAt(proxy.url, [tour])
    proxy.cutNext(text, when)
    const handle = await world.foothold.submit(tour, null)
    await world.foothold.sendSignal(handle.id, approved, { by: 'Анна' })

    expect(await handle.result({ timeoutMs: 20_000 })).toBe('Анна: 55')

    expect(proxy.cuts).toBe(1)
    expect(counts.step).toBe(1)
    expect(counts.sends).toHaveLength(2)
    expect(new Set(counts.sends).size).toBe(1)
    expect(await world.query('select text from books')).toEqual([{ text: 'Анна: 55' }])
    expect(await world.query(`select count(*)::int as n from foothold.attempts where outcome = 'completed'`)).toEqual([
      { n: 1 },
    ])
    await until('the worker holds nothing', () => started.running === 0)
    expect(await world.query(`select 1 from foothold.tasks where status <> 'completed'`)).toEqual([])
  })

  test('a lost answer to a dead letter leaves one, with one follow-up', async () => {
    const world = await setup()
    await using proxy = await startCuttingProxy(world.url)
    const failing = agentOf(async (task) =>
      task.step('план', () => Promise.reject(new Error('нет')), { retry: { attemptsMax: 1 } }),
    )
    await world.workerAt(proxy.url, [failing])
    proxy.cutNext(`set status = 'dead_letter'`, when)

    const handle = await world.foothold.submit(failing, null)

    await expect(handle.result({ timeoutMs: 20_000 })).rejects.toMatchObject({ code: 'TASK_DEAD_LETTER' })
    expect(proxy.cuts).toBe(1)
    expect(await world.query('select outcome from foothold.attempts')).toEqual([{ outcome: 'dead_letter' }])
  })

  test('a lost answer to a handover leaves the task to the next worker, handed over once', async () => {
    const world = await setup()
    await using proxy = await startCuttingProxy(world.url)
    let isFirst = true
    const slow = agentOf(async (task) =>
      task.step('план', async ({ signal }) => {
        if (!isFirst) return 'вторым'
        isFirst = false
        await until('the step is told to stop', () => signal.aborted)
        throw signal.reason
      }),
    )
    const leaving = await world.workerAt(proxy.url, [slow], { graceMs: 700 })
    const handle = await world.foothold.submit(slow, null)
    await until('the step runs', () => !isFirst)
    proxy.cutNext('handover_count = handover_count + 1', when)

    const report = await leaving.drain()

    expect(proxy.cuts).toBe(1)
    expect(report).toEqual({ handedOver: [handle.id], leftBehind: [] })
    expect(await world.query('select handover_count as n, status from foothold.tasks')).toEqual([
      { n: 1, status: 'pending' },
    ])
    await world.worker([slow])
    expect(await handle.result({ timeoutMs: 20_000 })).toBe('вторым')
  })
})
