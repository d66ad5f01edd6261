import { describe, expect, test } from 'vitest'
import { connect } from '../../src/index.ts'
import { startBlackHole } from '../chaos/black-hole.ts'
import { startCuttingProxy } from './cutting-proxy.ts'
import { agentOf, gate, setup, until } from './world.ts'

/** What a worker does when it is taken for dead, when it stops, and when a task may kill it. */

describe('a worker that is declared lost though it lives', () => {
  test('writes nothing of its old life, and goes on under a new id', async () => {
    const world = await setup()
    const { foothold, query } = world
    const started = gate()
    const wake = gate()
    const events: string[] = []
    let isFirst = true
    const working = agentOf(async (task) => {
      await task.step('первый', () => 'сделан')
      const answer = await task.step('второй', async ({ signal }) => {
        if (!isFirst) return 'нового'
        isFirst = false
        signal.addEventListener('abort', () => events.push('aborted'))
        started.open()
        await wake.opened
        return 'старого'
      })
      return task.effect('сделка', {
        request: {},
        onDoubt: 'ask',
        send: async () => {
          events.push(`sent by ${answer}`)
          return answer
        },
      })
    })
    // Only its signs of life are lost; its statements arrive.
    const hole = await startBlackHole(world.url)
    const on = await connect(world.url, { directUrl: hole.url, logger: 'silent', migrate: false })
    const deaf = on.worker({ agents: [working], heartbeatMs: 100, leaseMs: 1_000, graceMs: 500 })
    await deaf.start()
    const oldId = deaf.id
    const handle = await foothold.submit(working, null)
    await started.opened

    hole.swallow()
    await world.worker([working])

    expect(await handle.result({ timeoutMs: 20_000 })).toBe('нового')
    const before = await query('select * from foothold.agent_steps order by key')
    wake.open()
    hole.release()
    await until('it has a new id', () => deaf.id !== oldId, 20_000)
    await until('nothing of its old life runs', () => deaf.running === 0)
    expect(await query('select * from foothold.agent_steps order by key')).toEqual(before)
    expect(events).toEqual(['sent by нового', 'aborted'])
    expect(await query(`select status from foothold.workers where id = $1`, [oldId])).toEqual([{ status: 'lost' }])
    await until('its new life is registered', async () => {
      const rows = await query(`select 1 from foothold.workers where id = $1 and status = 'active'`, [deaf.id])
      return rows.length === 1
    })
    await on.close()
  }, 60_000)
})

test('a worker whose row somebody has deleted begins anew, and its task is taken by whoever is there', async () => {
  const { foothold, worker, query } = await setup()
  const started = gate()
  let lives = 0
  const working = agentOf(async (task) => {
    await task.step('первый', () => 'сделан')
    return task.step('второй', async ({ signal }) => {
      lives += 1
      if (lives > 1) return task.attempt
      started.open()
      await until('the old life is told', () => signal.aborted)
      throw signal.reason
    })
  })
  const only = await worker([working])
  const oldId = only.id
  const handle = await foothold.submit(working, null)
  await started.opened

  await query('delete from foothold.workers')

  expect(await handle.result({ timeoutMs: 20_000 })).toBe(2)
  expect(only.id).not.toBe(oldId)
  expect(lives).toBe(2)
  expect(await query('select outcome from foothold.attempts order by attempt')).toEqual([
    { outcome: 'orphaned' },
    { outcome: 'completed' },
  ])
})

describe('a drain', () => {
  test('hands back what a claim with a lost answer has taken', async () => {
    const world = await setup()
    await using proxy = await startCuttingProxy(world.url)
    const quick = agentOf(async () => 'готово')
    // No ping comes in time to adopt it.
    const leaving = await world.workerAt(proxy.url, [quick], { heartbeatMs: 5_000, leaseMs: 20_000 })
    const handle = await world.foothold.submit(quick, null)
    proxy.cutNext('for no key update skip locked) t', 'after')
    await until('the claim is cut', () => proxy.cuts === 1)

    const report = await leaving.drain()

    expect(report.leftBehind).toEqual([])
    const [task] = await world.query<{ status: string }>('select status from foothold.tasks')
    expect(task?.status).not.toBe('processing')
    await world.worker([quick])
    expect(await handle.result({ timeoutMs: 5_000 })).toBe('готово')
  })
})

describe('a task that may kill its worker', () => {
  test('runs alone: nothing else is claimed beside it, and everything after it', async () => {
    const { foothold, worker, query } = await setup()
    const together: string[][] = []
    const running = new Set<string>()
    const watched = agentOf(async (task, name) =>
      task.step('шаг', async () => {
        running.add(String(name))
        together.push([...running])
        await new Promise((resolve) => setTimeout(resolve, 300))
        running.delete(String(name))
        return task.id
      }),
    )
    await foothold.submit(watched, 'опасная')
    await query(`update foothold.tasks set suspect = true`)
    await worker([watched], { concurrency: 10 })
    await until('the suspect runs', () => running.has('опасная'))
    const others = await Promise.all(Array.from({ length: 5 }, (_, n) => foothold.submit(watched, `мирная ${n}`)))

    await Promise.all(others.map((other) => other.result({ timeoutMs: 15_000 })))

    const besideSuspect = together.filter((names) => names.includes('опасная'))
    expect(besideSuspect).toEqual([['опасная']])
  })
})

test('a task that wakes while its old attempt is still being told of it goes on at once', async () => {
  const world = await setup()
  await using proxy = await startCuttingProxy(world.url)
  const sleepy = agentOf(async (task) => {
    await task.sleep('миг', 30)
    return task.attempt
  })
  await world.workerAt(proxy.url, [sleepy])
  // The wait is stored, its answer never comes; meanwhile the task is claimed again.
  proxy.cutNext(`set status = 'waiting', worker_id = null`, 'after')
  const handle = await world.foothold.submit(sleepy, null)

  expect(await handle.result({ timeoutMs: 5_000 })).toBe(2)
  expect(proxy.cuts).toBe(1)
  expect(await world.query('select handover_count as n from foothold.tasks')).toEqual([{ n: 0 }])
})
