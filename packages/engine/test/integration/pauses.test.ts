import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { claimTasks } from '../../src/store/claim.ts'
import { openDatabase } from '../../src/store/database.ts'
import { setAside, takeBack } from '../../src/store/pauses.ts'
import { agentOf, gate, setup, until, type World } from './world.ts'

const quick = agentOf(async (task) => task.step('answer', () => 'готово'))
const other = agentOf(async (task) => task.step('answer', () => 'готово'), { name: 'other' })

/** Proof that a worker has looked since: a task of something that is not paused went through it. */
async function passes(world: World): Promise<void> {
  for (let look = 0; look < 3; look += 1) {
    await (await world.foothold.submit(other, null)).result({ timeoutMs: 10_000 })
  }
}

async function statusOf({ query }: World, id: string): Promise<unknown> {
  const [row] = await query('select status, waiting_for, attempt from foothold.tasks where id = $1', [id])
  return row
}

describe('an agent', () => {
  test('that is paused takes tasks and keeps them pending; unpaused, it runs them all', async () => {
    const world = await setup()
    const { foothold, worker } = world
    await foothold.pause({ agent: 'test' })
    await worker([quick, other])

    const handles = await Promise.all([1, 2, 3].map((n) => foothold.submit(quick, n)))
    await passes(world)
    const standing = await Promise.all(handles.map(({ id }) => statusOf(world, id)))
    const first = handles[0] as (typeof handles)[number]
    const why = await foothold.why(first.id)
    const answer = await foothold.unpause({ agent: 'test' })

    expect(standing).toEqual(handles.map(() => ({ status: 'pending', waiting_for: null, attempt: 0 })))
    expect(why?.why).toContain('agent test has been paused')
    expect(why?.next).toEqual(['foothold unpause --agent test'])
    expect(answer).toEqual({ wasPaused: true })
    await Promise.all(handles.map((handle) => handle.result({ timeoutMs: 10_000 })))
    expect(await foothold.unpause({ agent: 'test' })).toEqual({ wasPaused: false })
  })

  test('paused twice, even at once, is one pause, and the first reason stands', async () => {
    const { foothold } = await setup()

    const first = await foothold.pause({ agent: 'test' }, { reason: 'первая', by: 'анна' })
    const again = await Promise.all([1, 2, 3].map(() => foothold.pause({ agent: 'test' }, { reason: 'вторая' })))

    expect(again.map(({ since, reason, by }) => ({ since, reason, by }))).toEqual(
      again.map(() => ({ since: first.since, reason: 'первая', by: 'анна' })),
    )
    expect(await foothold.pauses()).toHaveLength(1)
  })

  test('that nobody has seen yet can be paused before it comes, and the answer says so', async () => {
    const { foothold, worker } = await setup()
    await worker([quick])

    expect(await foothold.pause({ agent: 'test' })).toMatchObject({ kind: 'agent', value: 'test', isKnown: true })
    expect(await foothold.pause({ release: 'r43' })).toMatchObject({ isKnown: false })
    expect(await foothold.pause({ tenant: 'ООО «Вектор»' })).toMatchObject({ isKnown: false })
    await expect(foothold.pause({ agent: 'a', tenant: 'b' } as never)).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
    })
    await expect(foothold.pause({} as never)).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' })
  })

  test('running a step: the step ends, the next one runs only after the pause, and nothing is counted against the task', async () => {
    const world = await setup()
    const { foothold, worker, query } = world
    const inside = gate()
    const open = gate()
    const calls: string[] = []
    const slow = agentOf(async (task) => {
      await task.step('first', async () => {
        calls.push('first')
        inside.open()
        await open.opened
      })
      return task.step('second', () => calls.push('second'))
    })
    await worker([slow])
    const handle = await foothold.submit(slow, null)
    await inside.opened

    await foothold.pause({ agent: 'test' })
    await until('the worker knows', async () => (await foothold.why(handle.id))?.why.includes('after its current step'))
    await passesPing(world)
    open.open()
    await until('it is handed over', async () => (await foothold.task(handle.id))?.status === 'pending')

    expect(calls).toEqual(['first'])
    expect(await query('select outcome, reason from foothold.attempts')).toEqual([
      { outcome: 'handed_over', reason: 'paused' },
    ])
    await foothold.unpause({ agent: 'test' })
    expect(await handle.result({ timeoutMs: 10_000 })).toBe(2)
    expect(calls).toEqual(['first', 'second'])
    expect(await foothold.task(handle.id)).toMatchObject({ errorCount: 0, crashCount: 0, handoverCount: 1 })
  })

  test('paused for longer than its deadline starts the deadline anew; one that the producer gave ends the task', async () => {
    const { foothold, worker, query } = await setup()
    await foothold.pause({ agent: 'test' })
    const mine = await foothold.submit(quick, null)
    const theirs = await foothold.submit(quick, null, { deadlineAt: new Date(Date.now() + 100) })
    await query(
      `update foothold.tasks set deadline_at = clock_timestamp() - interval '1 hour' where id = any($1::uuid[])`,
      [[mine.id, theirs.id]],
    )
    await worker([quick])

    await foothold.unpause({ agent: 'test' })

    expect(await mine.result({ timeoutMs: 10_000 })).toBe('готово')
    await expect(theirs.result({ timeoutMs: 10_000 })).rejects.toMatchObject({ details: { reason: 'deadline' } })
  })

  test('whose suspects wait keeps no worker from other work', async () => {
    const world = await setup()
    const { foothold, worker, query } = world
    await foothold.pause({ agent: 'test' })
    const suspect = await foothold.submit(quick, null)
    await query('update foothold.tasks set suspect = true where id = $1', [suspect.id])
    const inside = gate()
    const open = gate()
    const busy = agentOf(
      async (task) =>
        task.step('wait', async () => {
          inside.open()
          await open.opened
        }),
      { name: 'busy' },
    )
    await worker([quick, other, busy])
    const running = await foothold.submit(busy, null)
    await inside.opened

    // Longer than the pause between two looks for suspects.
    const untilMs = Date.now() + 2_500
    await until('it goes on working beside it', async () => {
      await passes(world)
      return Date.now() > untilMs
    })

    open.open()
    await running.result({ timeoutMs: 10_000 })
    expect(await statusOf(world, suspect.id)).toMatchObject({ status: 'pending', attempt: 0 })
  })
})

test('workers of a paused release claim nothing and give away what they run; another release goes on with it', async () => {
  const world = await setup()
  const { foothold, worker } = world
  const inside = gate()
  const open = gate()
  const seen: string[] = []
  const agentAt = (release: string): typeof quick =>
    agentOf(async (task) => {
      await task.step('first', async () => {
        inside.open()
        await open.opened
        return ''
      })
      return task.step('second', () => {
        seen.push(release)
        return release
      })
    })
  const bad = await worker([agentAt('r42')], { release: 'r42' })
  const handle = await foothold.submit('test', null)
  await inside.opened

  await foothold.pause({ release: 'r42' }, { reason: 'плохой выпуск' })
  await passesPing(world)
  open.open()
  await until('it is handed over', async () => (await foothold.task(handle.id))?.status === 'pending')
  const why = await foothold.why(handle.id)
  await worker([agentAt('r41')], { release: 'r41' })

  expect(await handle.result({ timeoutMs: 10_000 })).toBe('r41')
  expect(seen).toEqual(['r41'])
  expect(why?.why).toContain('every live worker that has test@1 is of a paused release: r42')
  expect(why?.next).toEqual(['foothold unpause --release r42'])
  expect(bad.status).toBe('active')
})

describe('a tenant', () => {
  test('that is paused waits, others pass; unpaused, its tasks come back to their old place', async () => {
    const world = await setup()
    const { foothold, worker } = world
    await foothold.pause({ tenant: 'ООО «Вектор»' })
    await worker([quick, other])
    const theirs = await Promise.all([1, 2, 3].map((n) => foothold.submit(quick, n, { tenant: 'ООО «Вектор»' })))
    const ours = await foothold.submit(quick, 1, { tenant: 'ИП Петров' })
    await ours.result({ timeoutMs: 10_000 })
    await until('they are set aside', async () => {
      const standing = await Promise.all(theirs.map(({ id }) => statusOf(world, id)))
      return standing.every((row) => (row as { waiting_for: string }).waiting_for === 'pause')
    })
    const why = await foothold.why((theirs[0] as (typeof theirs)[number]).id)

    await foothold.unpause({ tenant: 'ООО «Вектор»' })

    await Promise.all(theirs.map((handle) => handle.result({ timeoutMs: 10_000 })))
    expect(why?.next).toEqual([`foothold unpause --tenant 'ООО «Вектор»'`])
  })

  test('with a hundred thousand pending tasks before all others does not slow down a claim of another tenant', async () => {
    const world = await setup()
    const { foothold, worker, query, url } = world
    const [last, first] = [await worker([quick]), await foothold.submit(quick, 0)]
    await first.result({ timeoutMs: 20_000 })
    await last.drain()
    await query(
      `insert into foothold.tasks (id, agent, handler, status, run_at, tenant, deadline_ms, created_at)
       select foothold.new_id(), 'test', 'test@1', 'pending', clock_timestamp() - n * interval '1 ms', case when n > 40 then 'большой' else 'малый' end, 900000, clock_timestamp()
       from generate_series(1, ${BACKLOG + 40}) n`,
    )
    await query(
      `insert into foothold.workers (id, release, handlers, concurrency, status, started_at, last_heartbeat_at, lease_ms, lease_until, steady_since)
       select 'by-hand', 'r', '{test@1}', 1, 'active', c, c, 600000, c + interval '10 min', c from clock_timestamp() c`,
    )
    await query('analyze foothold.tasks')
    await foothold.pause({ tenant: 'большой' })
    const before = await claimsMs(url)
    const db = openDatabase({ url, poolSize: 1 })

    let moved = 0
    for (let aside = -1; aside !== 0; moved += aside) aside = await setAside(db, 'by-hand')
    const after = await claimsMs(url)
    await foothold.unpause({ tenant: 'большой' })
    let taken = 0
    for (let back = -1; back !== 0; taken += back) back = (await takeBack(db)).count
    await db.close()

    console.log(
      `a claim past ${BACKLOG} paused tasks: ${before.join(', ')} ms; with them set aside: ${after.join(', ')} ms`,
    )
    expect(moved).toBe(BACKLOG)
    expect(taken).toBe(BACKLOG)
    expect(
      await query(`select count(*)::int as n from foothold.tasks where status = 'processing' and tenant <> 'малый'`),
    ).toEqual([{ n: 0 }])
    expect(Math.min(...after)).toBeLessThan(Math.min(...before))
    expect(Math.min(...after)).toBeLessThan(20)
  }, 120_000)
})

const BACKLOG = 30_000

/** Ten claims of one task each, by a worker that is a row only. */
async function claimsMs(url: string): Promise<readonly number[]> {
  const db = openDatabase({ url, poolSize: 1 })
  const spent: number[] = []
  for (let n = 0; n < 10; n += 1) {
    const startedAt = performance.now()
    const { claimed } = await claimTasks(db, {
      workerId: 'by-hand',
      claimId: randomUUID(),
      handlers: ['test@1'],
      limit: 1,
      oldestFirst: false,
      kind: 'pending',
    })
    spent.push(Math.round(performance.now() - startedAt))
    expect(claimed).toHaveLength(1)
  }
  await db.close()
  return spent
}

/** Every live worker has asked what it holds since now. */
async function passesPing({ query }: World): Promise<void> {
  const [row] = await query<{ at: Date }>('select clock_timestamp() as at')
  await until('a ping after the pause', async () => {
    const [seen] = await query<{ n: number }>(
      `select count(*)::int as n from pg_stat_activity
       where application_name = 'foothold heartbeat' and datname = current_database() and state = 'idle'
         and query like '%isPaused%' and state_change > $1`,
      [row?.at],
    )
    return (seen?.n ?? 0) > 0
  })
}
