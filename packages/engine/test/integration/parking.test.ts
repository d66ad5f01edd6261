import { expect, test } from 'vitest'
import { lockIsAwaited } from './held-sessions.ts'
import { agentOf, gate, setup } from './world.ts'

test('a task does not park while a failed try of another branch is still being stored', async () => {
  const { foothold, worker, session } = await setup()
  const started = gate()
  const fail = gate()
  const two = agentOf((task) =>
    Promise.race([
      task.sleep('long', 3_600_000),
      task.step(
        'flaky',
        async ({ tries }) => {
          started.open()
          await fail.opened
          if (tries === 1) throw new Error('первый раз не вышло')
          return 'вышло'
        },
        { retry: { firstDelayMs: 50 } },
      ),
    ]),
  )
  await worker([two])
  const handle = await foothold.submit(two, null)
  await started.opened
  const held = await session()
  await held.query('begin')
  await held.query('select 1 from foothold.tasks for update')

  fail.open()
  await lockIsAwaited({ query: (text) => held.query(text).then(({ rows }) => rows) })
  // Long enough for the quiet time after which an idle task parks.
  await new Promise((resolve) => setTimeout(resolve, 100))
  await held.query('commit')

  expect(await handle.result({ timeoutMs: 10_000 })).toBe('вышло')
})

test('a drain during the start ends the worker at once, also without a database', async () => {
  const { foothold, query } = await setup()
  const starting = foothold.worker({ agents: [agentOf(async () => null)] })
  const start = starting.start().catch((error: unknown) => error)

  expect(await starting.drain()).toEqual({ handedOver: [], leftBehind: [] })

  expect(await start).toMatchObject({ code: 'WORKER_STATE' })
  expect(starting.status).toBe('stopped')
  expect(await query(`select 1 from foothold.tasks where status = 'processing'`)).toEqual([])
})
