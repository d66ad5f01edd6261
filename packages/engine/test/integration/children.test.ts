import { expect, test } from 'vitest'
import { z } from 'zod'
import { agent, type Foothold, isFootholdError, signal, TerminalError } from '../../src/index.ts'
import { agentOf, gate, setup, until, type World } from './world.ts'

const CHILDREN = `select id, status, attempt, tenant, priority, parent_id, parent_key from foothold.tasks where parent_key is not null order by id`

/** Nobody is left to be told of anything. */
async function allTold(world: Pick<World, 'query'>): Promise<void> {
  await until('every end is told', async () => (await world.query('select 1 from foothold.children')).length === 0)
}

const deadOf = (foothold: Foothold, id: string) => foothold.task(id as never)

test('a child gives its output to its parent, which holds no slot meanwhile', async () => {
  const world = await setup()
  const childRuns = gate()
  const child = agent({
    name: 'child',
    input: z.object({ text: z.string(), times: z.number().default(2) }),
    run: async (task, { text, times }) => {
      await childRuns.opened
      return { text: text.repeat(times), at: new Date(0), tenant: task.tenant }
    },
  })
  const parent = agentOf(async (task) => {
    const { text, at, tenant } = await task.child('перевод', child, { text: 'да' })
    return { text, year: at.getUTCFullYear(), tenant }
  })
  // One slot: a parent that held it would starve its own child.
  const worker = await world.worker([parent, child], { concurrency: 1 })

  const handle = await world.foothold.submit(parent, null, { tenant: 'ромашка', priority: 'live' })
  await until('the parent waits', async () => (await handle.state()).status === 'waiting')

  expect(await world.query(`select waiting_for, wake_at from foothold.tasks where id = $1`, [handle.id])).toEqual([
    { waiting_for: 'child', wake_at: null },
  ])
  childRuns.open()
  expect(await handle.result({ timeoutMs: 10_000 })).toEqual({ text: 'дада', year: 1970, tenant: 'ромашка' })
  expect(await world.query(CHILDREN)).toMatchObject([
    { status: 'completed', attempt: 1, tenant: 'ромашка', priority: 0, parent_id: handle.id, parent_key: 'перевод' },
  ])
  await allTold(world)
  await until('nothing runs', () => worker.running === 0)
})

test('a child may have another tenant and another priority than its parent, and may be known by its name alone', async () => {
  const world = await setup()
  const child = agentOf(async (task) => task.tenant, { name: 'child' })
  const parent = agentOf((task) =>
    task.child('один', { name: 'child' } as typeof child, null, { tenant: 'другой', priority: 'batch' }),
  )
  await world.worker([parent, child])

  const handle = await world.foothold.submit(parent, null, { tenant: 'ромашка' })

  expect(await handle.result({ timeoutMs: 10_000 })).toBe('другой')
  expect(await world.query(CHILDREN)).toMatchObject([{ tenant: 'другой', priority: 2 }])
})

test('a dead-lettered child is an error that the parent can catch, the same in every replay', async () => {
  const world = await setup()
  const go = signal('go', z.null())
  const child = agentOf(async () => Promise.reject(new TerminalError('нет такого заказа')), { name: 'child' })
  const caught: unknown[] = []
  const parent = agentOf(async (task) => {
    const failure = await task.child('заказ', child, null).catch((error: unknown) => error)
    caught.push(failure)
    await task.waitForSignal('дальше', go)
    return isFootholdError(failure, 'TASK_DEAD_LETTER') ? failure.details.taskId : null
  })
  await world.worker([parent, child])
  const handle = await world.foothold.submit(parent, null)
  await until(
    'the parent waits for its signal',
    async () => (await world.foothold.task(handle.id))?.waitingFor === 'signal',
  )

  await world.foothold.sendSignal(handle.id, go, null)

  const childId = await handle.result({ timeoutMs: 10_000 })
  expect(await world.query(CHILDREN)).toMatchObject([{ id: childId, status: 'dead_letter' }])
  expect(caught.length).toBeGreaterThanOrEqual(2)
  for (const error of caught) {
    expect(error).toMatchObject({
      code: 'TASK_DEAD_LETTER',
      details: { taskId: childId, reason: 'step_failed', message: expect.stringContaining('нет такого заказа') },
    })
  }
})

test('a parent that does not catch it stops once, blamed on the child, and goes on after both were resumed', async () => {
  const world = await setup()
  let isMended = false
  let looks = 0
  const child = agentOf(
    async () => {
      if (!isMended) throw new TerminalError('сломано')
      return 'починено'
    },
    { name: 'child' },
  )
  const parent = agentOf(async (task) => {
    looks += 1
    return task.child('заказ', child, null)
  })
  await world.worker([parent, child])
  const handle = await world.foothold.submit(parent, null)
  await expect(handle.result({ timeoutMs: 10_000 })).rejects.toMatchObject({
    code: 'TASK_DEAD_LETTER',
    details: { reason: 'child_failed' },
  })
  const [row] = await world.query<{ id: string }>(CHILDREN)
  const childId = row?.id as never

  // In vain while the child is a dead letter: the same end at once, no second child.
  await world.foothold.resume(handle.id)
  await expect(handle.result({ timeoutMs: 10_000 })).rejects.toMatchObject({ code: 'TASK_DEAD_LETTER' })
  isMended = true
  await world.foothold.resume(childId)
  expect(await world.foothold.handle(childId).result({ timeoutMs: 10_000 })).toBe('починено')
  await world.foothold.resume(handle.id)

  expect(await handle.result({ timeoutMs: 10_000 })).toBe('починено')
  expect(looks).toBeLessThanOrEqual(5)
  expect(await world.query(CHILDREN)).toHaveLength(1)
  expect(await deadOf(world.foothold, childId)).toMatchObject({ status: 'completed' })
  await allTold(world)
})

test('a parent resumed before its child waits for the child, resumed later', async () => {
  const world = await setup()
  const mended = gate()
  let isMended = false
  const child = agentOf(
    async () => {
      if (!isMended) throw new TerminalError('сломано')
      await mended.opened
      return 'починено'
    },
    { name: 'child' },
  )
  const parent = agentOf((task) => task.child('заказ', child, null))
  await world.worker([parent, child])
  const handle = await world.foothold.submit(parent, null)
  await expect(handle.result({ timeoutMs: 10_000 })).rejects.toMatchObject({ code: 'TASK_DEAD_LETTER' })
  const [row] = await world.query<{ id: string }>(CHILDREN)

  isMended = true
  await world.foothold.resume(row?.id as never)
  await world.foothold.resume(handle.id)
  await until('the parent waits again', async () => (await world.foothold.task(handle.id))?.waitingFor === 'child')
  mended.open()

  expect(await handle.result({ timeoutMs: 10_000 })).toBe('починено')
})

test('a cancelled child is told to its parent', async () => {
  const world = await setup()
  const child = agentOf((task) => task.sleep('год', 31_536_000_000), { name: 'child' })
  const parent = agentOf(async (task) => task.child('год', child, null).catch((error: unknown) => String(error)))
  await world.worker([parent, child])
  const handle = await world.foothold.submit(parent, null)
  const [row] = await until('the child sleeps', async () => {
    const rows = await world.query<{ id: string; status: string }>(CHILDREN)
    return rows[0]?.status === 'waiting' ? rows : null
  })

  await world.foothold.cancel(row?.id as never, { reason: 'лишний' })

  expect(await handle.result({ timeoutMs: 10_000 })).toContain(`${row?.id} was cancelled: лишний`)
})

test('waits of every kind and steps go on side by side, and each result stands in its place', async () => {
  const world = await setup()
  const paid = signal('paid', z.number())
  const child = agentOf(async () => 'ребёнок', { name: 'child' })
  const parent = agentOf((task) =>
    Promise.all([
      task.child('ребёнок', child, null),
      task.waitForSignal('оплата', paid),
      task.sleep('пауза', 30).then(() => 'пауза'),
      task.step('шаг', () => 'шаг'),
      task.children('стая', child, [1, 2, 3], { atOnce: 2 }),
    ]),
  )
  await world.worker([parent, child])
  const handle = await world.foothold.submit(parent, null)
  await until('the parent waits', async () => (await handle.state()).status === 'waiting')

  await world.foothold.sendSignal(handle.id, paid, 7)

  expect(await handle.result({ timeoutMs: 10_000 })).toEqual([
    'ребёнок',
    7,
    'пауза',
    'шаг',
    ['ребёнок', 'ребёнок', 'ребёнок'],
  ])
})

test('an input that does not fit the child stops the parent, and starts nothing', async () => {
  const world = await setup()
  const child = agent({ name: 'child', input: z.object({ n: z.number() }), run: async (_task, { n }) => n })
  const parent = agentOf((task) => task.child('число', child, { n: 'семь' } as never))
  await world.worker([parent, child])

  const handle = await world.foothold.submit(parent, null)

  await expect(handle.result({ timeoutMs: 10_000 })).rejects.toMatchObject({
    code: 'TASK_DEAD_LETTER',
    message: expect.stringContaining('child число'),
  })
  expect(await world.query(CHILDREN)).toEqual([])
})

test('a cancel of the parent stops what its children and grandchildren run, within two seconds, in whatever worker', async () => {
  const world = await setup()
  const aborted: { agent: string; atMs: number; reason: string }[] = []
  const started: string[] = []
  const running = (name: string) =>
    agentOf(
      async (task) => {
        if (name === 'child') await Promise.all([task.child('внук', grandchild, null), work(task)])
        await work(task)
      },
      { name },
    )
  const work = (task: Parameters<Parameters<typeof agentOf>[0]>[0]) =>
    task.step('работа', async ({ signal: stop }) => {
      started.push(task.agent)
      await new Promise<void>((resolve) => stop.addEventListener('abort', () => resolve(), { once: true }))
      aborted.push({ agent: task.agent, atMs: performance.now(), reason: String(stop.reason) })
    })
  const grandchild = running('grandchild')
  const child = running('child')
  const parent = agentOf((task) => Promise.all([task.child('один', child, null), task.child('два', child, null)]))
  await world.worker([parent])
  // Anywhere: the children run in other workers than their parent.
  await world.worker([child])
  await world.worker([grandchild])
  const handle = await world.foothold.submit(parent, null)
  await until('all of them run', () => started.length === 4)
  await until('the parent waits', async () => (await handle.state()).status === 'waiting')

  const cancelledMs = performance.now()
  // Waiting: it has ended as this answer comes, and its children have been told.
  expect(await handle.cancel({ reason: 'клиент ушёл' })).toEqual({ outcome: 'cancelled', status: 'cancelled' })
  await until('all of them have stopped', () => aborted.length === 4)

  expect(Math.max(...aborted.map(({ atMs }) => atMs)) - cancelledMs).toBeLessThan(2_000)
  for (const { reason } of aborted) expect(reason).toContain('cancelled')
  await until('all have ended', async () => {
    const rows = await world.query(`select 1 from foothold.tasks where status <> 'cancelled'`)
    return rows.length === 0
  })
  const [row] = await world.query(`select cancel_reason from foothold.tasks where agent = 'grandchild' limit 1`)
  expect(row).toMatchObject({ cancel_reason: expect.stringContaining('клиент ушёл') })
  await allTold(world)
})

test("a parent's dead letter leaves its children at work", async () => {
  const world = await setup()
  const go = gate()
  const child = agentOf(async () => go.opened.then(() => 'доделано'), { name: 'child' })
  const parent = agentOf((task) =>
    Promise.all([
      task.child('долгое', child, null),
      task.step('беда', () => Promise.reject(new TerminalError('беда'))),
    ]),
  )
  await world.worker([parent, child])
  const handle = await world.foothold.submit(parent, null)
  await expect(handle.result({ timeoutMs: 10_000 })).rejects.toMatchObject({ code: 'TASK_DEAD_LETTER' })
  go.open()

  await until('the child has ended', async () => (await world.query(CHILDREN))[0]?.['status'] === 'completed')
  await allTold(world)
})

test('a cancel with plain SQL, and one of a worker that died, reach the children all the same', async () => {
  const world = await setup()
  const child = agentOf((task) => task.sleep('год', 31_536_000_000), { name: 'child' })
  const parent = agentOf((task) => task.child('год', child, null))
  await world.worker([parent, child])
  const handle = await world.foothold.submit(parent, null)
  await until('both wait', async () => {
    const rows = await world.query<{ status: string }>('select status from foothold.tasks')
    return rows.length === 2 && rows.every(({ status }) => status === 'waiting')
  })

  await world.query('select foothold.cancel($1)', [handle.id])

  await until('both are cancelled', async () => {
    const rows = await world.query<{ status: string }>('select status from foothold.tasks')
    return rows.every(({ status }) => status === 'cancelled')
  })
  await allTold(world)
})

test('a child that code of another release ended, which knows of no children, wakes its parent', async () => {
  const world = await setup()
  const child = agentOf(async () => null, { name: 'child' })
  const parent = agentOf((task) => task.child('один', child, null))
  await world.worker([parent])
  const handle = await world.foothold.submit(parent, null)
  await until('the parent waits', async () => (await handle.state()).status === 'waiting')

  await world.query(
    `with t as (update foothold.tasks set status = 'completed', attempt = 1, finished_at = now() where agent = 'child' returning id)
     update foothold.task_payloads p set output = '"издалека"' from t where p.task_id = t.id`,
  )

  expect(await handle.result({ timeoutMs: 10_000 })).toBe('издалека')
})

test('of many children those that failed are told by their place, and the others are not held up', async () => {
  const world = await setup()
  const child = agent({
    name: 'child',
    input: z.number(),
    run: async (_task, n) => {
      if (n === 2 || n === 5) throw new TerminalError(`номер ${n}`)
      return n
    },
  })
  const parent = agentOf((task) => task.children('число', child, [1, 2, 3, 4, 5, 6], { atOnce: 2 }))
  await world.worker([parent, child])
  const handle = await world.foothold.submit(parent, null)

  await expect(handle.result({ timeoutMs: 15_000 })).rejects.toMatchObject({
    code: 'TASK_DEAD_LETTER',
    message: expect.stringContaining('номер 2'),
  })

  const rows = await world.query<{ status: string }>(CHILDREN)
  expect(rows.map(({ status }) => status)).toEqual([
    'completed',
    'dead_letter',
    'completed',
    'completed',
    'dead_letter',
    'completed',
  ])
})
