import { expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { signal } from '../../src/index.ts'
import { holdAt, movableClock } from '../../src/testing/index.ts'
import { lockIsAwaited } from './held-sessions.ts'
import { agentOf, gate, setup, until } from './world.ts'

const approved = signal('approved', z.string())
const other = signal('other', z.string())

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

test('a signal that nobody waits for, coming while the task parks, does not keep it in its slot', async () => {
  const { foothold, worker, query } = await setup()
  const waiting = agentOf((task) => task.waitForSignal('решение', approved))
  const running = await worker([waiting])
  const held = holdAt('park.before')
  onTestFinished(() => held.release())
  const handle = await foothold.submit(waiting, null)
  await held.reached

  await foothold.sendSignal(handle.id, other, 'не то')
  held.release()

  await until('the task waits in the database', async () => {
    const rows = await query(`select 1 from foothold.tasks where status = 'waiting'`)
    return rows.length === 1
  })
  await until('its slot is free', () => running.running === 0)
  await foothold.sendSignal(handle.id, approved, 'да')
  expect(await handle.result({ timeoutMs: 10_000 })).toBe('да')
})

test.for(['signal', 'cancel', 'drain', 'deadline'] as const)(
  'a %s that comes while the task parks is not missed',
  async (what) => {
    const { foothold, worker, query } = await setup()
    const waiting = agentOf(
      (task) => task.waitForSignal('решение', approved),
      what === 'deadline' ? { deadlineMs: 400 } : {},
    )
    const running = await worker([waiting])
    const held = holdAt('park.before')
    onTestFinished(() => held.release())
    const handle = await foothold.submit(waiting, null)
    await held.reached

    let drained: Promise<unknown> = Promise.resolve()
    if (what === 'signal') await foothold.sendSignal(handle.id, approved, 'да')
    if (what === 'cancel') await foothold.cancel(handle.id, { reason: 'передумал' })
    if (what === 'drain') drained = running.drain()
    if (what === 'deadline') await until('the deadline has ended the attempt', () => running.running === 0)
    held.release()
    await drained

    const status = await until('the task stands', async () => {
      const [task] = await query<{ status: string }>('select status from foothold.tasks')
      return task?.status === 'processing' ? null : task?.status
    })
    if (what === 'signal') expect(await handle.result({ timeoutMs: 10_000 })).toBe('да')
    if (what === 'cancel') await until('it is cancelled', async () => (await handle.state()).status === 'cancelled')
    if (what === 'drain') expect(['waiting', 'pending']).toContain(status)
    if (what === 'deadline') expect(status).toBe('dead_letter')
  },
)

test('a task whose branches sleep and fail parks for the failure, and the sleep goes on where it was', async () => {
  const { foothold, worker, query } = await setup()
  let tries = 0
  const two = agentOf(async (task) => {
    const startedAt = Date.now()
    await Promise.all([
      task.sleep('пауза', 900),
      task.step(
        'сбой',
        () => {
          tries += 1
          if (tries < 3) throw new Error('ещё нет')
        },
        { retry: { firstDelayMs: 50, delayMaxMs: 50 } },
      ),
    ])
    return startedAt
  })
  await worker([two])
  const at = Date.now()

  await (await foothold.submit(two, null)).result({ timeoutMs: 10_000 })

  expect(tries).toBe(3)
  expect(Date.now() - at).toBeGreaterThanOrEqual(880)
  expect(Date.now() - at).toBeLessThan(4_000)
  const attempts = await query<{ reason: string }>('select reason from foothold.attempts order by attempt')
  expect(attempts.map(({ reason }) => reason).filter((reason) => reason === 'step_failed')).toHaveLength(2)
})

test('a sleep of nothing or less than nothing costs no attempt', async () => {
  const { foothold, worker, query } = await setup()
  const quick = agentOf(async (task) => {
    await task.sleep('ноль', 0)
    await task.sleep('меньше', -1e12)
    await task.sleepUntil('давно', new Date(0))
    return task.waitForSignal('не ждём', approved, { timeoutMs: -5 })
  })
  await worker([quick])

  expect(await (await foothold.submit(quick, null)).result({ timeoutMs: 10_000 })).toBeNull()
  expect(await query('select attempt from foothold.tasks')).toEqual([{ attempt: 1 }])
})

test('a sleep of months is kept, and over when they have passed', async () => {
  const { ownerUrl, foothold, worker, query } = await setup()
  const clock = movableClock(ownerUrl)
  const months = 90 * 86_400_000
  const patient = agentOf(async (task) => {
    await task.sleep('квартал', months)
    return 'дождались'
  })
  const running = await worker([patient])
  const handle = await foothold.submit(patient, null)
  await until('it waits without a slot', async () => {
    const rows = await query(
      `select 1 from foothold.tasks where status = 'waiting' and wake_at > now() + interval '89 days'`,
    )
    return rows.length === 1 && running.running === 0
  })

  // The worker's own lease is as old as the database's time: it begins a new life.
  await clock.advance(months)

  expect(await handle.result({ timeoutMs: 20_000 })).toBe('дождались')
})

test.for([1e13, Number.MAX_VALUE, Number.POSITIVE_INFINITY, Number.NaN])(
  'a sleep of %d ms is refused at once, naming the limit',
  async (forMs) => {
    const { foothold, worker } = await setup()
    const endless = agentOf((task) => task.sleep('вечность', forMs))
    await worker([endless])

    const result = (await foothold.submit(endless, null)).result({ timeoutMs: 10_000 })

    await expect(result).rejects.toThrow(/sleep вечность: .*3153600000000/)
  },
)

test('a wait for a signal without a time limit still waits after another branch has woken the task', async () => {
  const { foothold, worker, query } = await setup()
  const two = agentOf(async (task) => {
    const [, decision] = await Promise.all([task.sleep('пауза', 50), task.waitForSignal('решение', approved)])
    return decision
  })
  await worker([two])
  const handle = await foothold.submit(two, null)
  await until('the second attempt has ended, or waits', async () => {
    const [task] = await query<{ status: string; attempt: number }>('select status, attempt from foothold.tasks')
    return task !== undefined && task.attempt > 1 && ['waiting', 'completed'].includes(task.status)
  })

  await foothold.sendSignal(handle.id, approved, 'да')

  expect(await handle.result({ timeoutMs: 10_000 })).toBe('да')
})

test('a deadline that the producer gave ends a wait for a signal that never comes', async () => {
  const { foothold, worker } = await setup()
  const waiting = agentOf((task) => task.waitForSignal('решение', approved))
  await worker([waiting])

  const handle = await foothold.submit(waiting, null, { deadlineAt: new Date(Date.now() + 1_500) })

  await expect(handle.result({ timeoutMs: 10_000 })).rejects.toMatchObject({ details: { reason: 'deadline' } })
})

test('a wait that the database cannot store ends the attempt, and the task goes on when it can', async () => {
  const { foothold, worker, query, log } = await setup()
  // Sequences do not roll back: the first six tries fail.
  await query(`create sequence tried;
    create function refuse() returns trigger language plpgsql as $$ begin
      if nextval('tried') <= 6 then raise exception 'could not extend file' using errcode = '58030'; end if;
      return new; end $$;
    create trigger refuse before update on foothold.tasks for each row when (new.waiting_for = 'sleep') execute function refuse()`)
  const sleepy = agentOf(async (task) => {
    await task.sleep('пауза', 300)
    return 'дождались'
  })
  await worker([sleepy])

  expect(await (await foothold.submit(sleepy, null)).result({ timeoutMs: 25_000 })).toBe('дождались')
  expect(log.some(({ fields }) => (fields as { reason?: string }).reason === 'database_error')).toBe(true)
})
