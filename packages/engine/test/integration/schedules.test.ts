import { describe, expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { agent, connect } from '../../src/index.ts'
import { openDatabase } from '../../src/store/database.ts'
import { fireSchedules, readDueSchedules } from '../../src/store/schedules.ts'
import { movableClock } from '../../src/testing/index.ts'
import { startWorkerProcess } from '../chaos/processes.ts'
import { startCuttingProxy } from './cutting-proxy.ts'
import { agentOf, gate, setup, until, type World } from './world.ts'

const DAY_MS = 86_400_000

interface Made {
  readonly tick: Date
  readonly key: string
}

/** Tasks of schedules with their ticks, in the order of these. */
function made({ query }: World): Promise<Made[]> {
  return query<Made>(
    `select t.tick_at as tick, k.key from foothold.tasks t left join foothold.dedupe k on k.task_id = t.id
     where t.tick_at is not null order by t.tick_at`,
  )
}

/** Sets the clock of the database; the machine's goes on by itself from there. */
async function clockOf({
  ownerUrl,
  query,
}: World): Promise<{ to(iso: string): Promise<void>; by(ms: number): Promise<void> }> {
  const clock = movableClock(ownerUrl)
  return {
    by: (ms) => clock.advance(ms),
    async to(iso) {
      const [row] = await query<{ now: Date }>('select foothold.clock() as now')
      await clock.advance(Date.parse(iso) - (row as { now: Date }).now.getTime())
    },
  }
}

const idle = agentOf(async () => 'готово')

test('a schedule runs its agent at each tick, with its input, tenant and priority, and the tick it stands for', async () => {
  const world = await setup()
  const { foothold, worker } = world
  const clock = await clockOf(world)
  await clock.to('2026-12-02T00:28:00Z')
  const seen: unknown[] = []
  const nightly = agent({
    name: 'nightly',
    input: z.object({ report: z.string(), days: z.number().default(7) }),
    run: async (task, input) => void seen.push({ input, tenant: task.tenant, tickAt: task.tickAt?.toISOString() }),
  })

  const schedule = await foothold.schedule('night', {
    agent: nightly,
    input: { report: 'выручка' },
    cron: '30 3 * * *',
    timeZone: 'Europe/Moscow',
    tenant: 'ООО «Вектор»',
    priority: 'batch',
  })
  await worker([nightly])

  expect(schedule).toMatchObject({
    agent: 'nightly',
    catchUp: 'once',
    overlap: 'skip',
    isPaused: false,
    lastTickAt: null,
    nextAt: new Date('2026-12-02T00:30:00Z'),
  })
  await clock.to('2026-12-02T00:30:00.100Z')
  await until('the tick has run', () => seen.length > 0)
  expect(seen).toEqual([
    { input: { report: 'выручка', days: 7 }, tenant: 'ООО «Вектор»', tickAt: '2026-12-02T00:30:00.000Z' },
  ])
  const [after] = await foothold.schedules()
  expect(after).toMatchObject({
    nextAt: new Date('2026-12-03T00:30:00Z'),
    lastTickAt: new Date('2026-12-02T00:30:00Z'),
  })
  expect((await foothold.task(after?.lastTaskId as never))?.priority).toBe('batch')
})

test('five workers side by side make one task of each tick', async () => {
  const world = await setup()
  const clock = await clockOf(world)
  await clock.to('2026-12-02T10:00:30Z')
  await world.foothold.schedule('each', { agent: idle, input: null, cron: '* * * * *', overlap: 'allow' })
  for (let n = 0; n < 5; n += 1) await world.worker([idle], { release: `r${n}` })

  for (let minute = 1; minute <= 3; minute += 1) {
    await clock.to(`2026-12-02T10:0${minute}:00.100Z`)
    await until('the tick has a task', async () => (await made(world)).length >= minute)
  }

  expect((await made(world)).map(({ key }) => key)).toEqual(
    [1, 2, 3].map((minute) => `schedule:each@2026-12-02T10:0${minute}Z`),
  )
})

describe('a tick has one task, whatever becomes of the worker that fires it', () => {
  test.for(['before', 'after'] as const)('the answer is lost, %s the server has carried it out', async (when) => {
    const world = await setup()
    const clock = await clockOf(world)
    await clock.to('2026-12-02T10:00:30Z')
    const proxy = await startCuttingProxy(world.url)
    onTestFinished(() => proxy[Symbol.asyncDispose]())
    await world.foothold.schedule('each', { agent: idle, input: null, cron: '* * * * *' })
    await world.workerAt(proxy.url, [idle])
    proxy.cutNext(`'schedule:'`, when)

    await clock.to('2026-12-02T10:01:00.100Z')
    await until('the answer is lost', () => proxy.cuts > 0)
    await until('the tick has run', async () => (await world.foothold.tasks({ status: 'completed' })).items.length > 0)

    expect(await made(world)).toMatchObject([{ key: 'schedule:each@2026-12-02T10:01Z' }])
    expect(await world.foothold.schedules()).toMatchObject([{ nextAt: new Date('2026-12-02T10:02:00Z') }])
  })

  test.for(['kill -9', 'its session ends'] as const)('%s while the statement is under way', async (blow) => {
    const world = await setup()
    const { url, query, foothold, session } = world
    const clock = await clockOf(world)
    await clock.to('2026-12-02T10:00:30Z')
    await query('create table ledger (id bigserial primary key, task text, what text, key text, worker text)')
    await query('create table replies (task text primary key, text text not null)')
    const victim = startWorkerProcess({ url, receiver: 'keys' })
    await victim.tells((told) => told['message'] === 'worker started')
    // The statement has locked its row and waits here for somebody who used the same key.
    const holder = await session()
    await holder.query('begin')
    await holder.query(
      `insert into foothold.dedupe (agent, tenant, key, task_id, body_hash, expires_at)
       values ('ledger', '', 'schedule:each@2026-12-02T10:01Z', gen_random_uuid(), '', 'infinity')`,
    )
    await foothold.schedule('each', { agent: 'ledger', input: null, cron: '* * * * *' })
    await clock.to('2026-12-02T10:01:00.100Z')
    const waiting = await until('the statement waits', async () => {
      const rows = await query<{ pid: number }>(
        `select pid from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and query like '%from foothold.schedules s join w%'`,
      )
      return rows[0]
    })

    victim.kill('SIGKILL')
    await victim.exited
    if (blow === 'its session ends') await query('select pg_terminate_backend($1)', [waiting.pid])
    await holder.query('rollback')
    await world.worker([agentOf(async () => 'готово', { name: 'ledger' })])

    await until('the tick has run', async () => (await foothold.tasks({ status: 'completed' })).items.length > 0)
    expect(await made(world)).toMatchObject([{ key: 'schedule:each@2026-12-02T10:01Z' }])
  })

  test('the same move sent twice makes its task once; without the fence and the key it would be two', async () => {
    const world = await setup()
    const db = openDatabase({ url: world.url, poolSize: 2 })
    onTestFinished(() => db.close())
    const clock = await clockOf(world)
    await clock.to('2026-12-02T10:00:30Z')
    await (await world.worker([idle])).drain()
    await world.foothold.schedule('each', { agent: idle, input: null, cron: '* * * * *', overlap: 'allow' })
    await clock.to('2026-12-02T10:01:00.100Z')
    const { due } = await readDueSchedules(db, [])
    const move = {
      name: 'each',
      seq: due[0]?.seq as number,
      ticks: [new Date('2026-12-02T10:01:00Z')],
      nextAt: new Date('2026-12-02T10:02:00Z'),
    }

    expect(await fireSchedules(db, [move])).toMatchObject([{ name: 'each', tasks: 1 }])
    // The fence alone.
    await world.query(`delete from foothold.dedupe`)
    expect(await fireSchedules(db, [move])).toEqual([])
    expect(await made(world)).toHaveLength(1)
    // Neither: the row stands as if nobody had moved it.
    await world.query(`update foothold.schedules set seq = ${move.seq}`)
    expect(await fireSchedules(db, [move])).toMatchObject([{ tasks: 1 }])
    expect(await made(world)).toHaveLength(2)
    // The key alone.
    await world.query(`update foothold.schedules set seq = ${move.seq}`)
    expect(await fireSchedules(db, [move])).toMatchObject([{ tasks: 0 }])
    expect(await made(world)).toHaveLength(2)
  })
})

describe('after an hour without a database or a worker the policy decides', () => {
  test.for([
    ['once', ['11:00']],
    ['skip', []],
    ['all', ['10:15', '10:30', '10:45', '11:00']],
  ] as const)('%s', async ([catchUp, expected]) => {
    const world = await setup()
    const clock = await clockOf(world)
    await clock.to('2026-12-02T10:05:00Z')
    await world.foothold.schedule('quarter', { agent: idle, input: null, cron: '*/15 * * * *', catchUp })

    await clock.to('2026-12-02T11:05:00Z')
    await world.worker([idle])
    await until('the row has moved on', async () =>
      (await world.foothold.schedules())[0]?.nextAt.toISOString().startsWith('2026-12-02T11:15'),
    )

    expect((await made(world)).map(({ tick }) => tick.toISOString().slice(11, 16))).toEqual(expected)
    await until(
      'they have ended',
      async () => (await world.foothold.tasks({ status: 'completed' })).items.length === expected.length,
    )
    // The next regular one comes on time.
    await clock.to('2026-12-02T11:15:00.100Z')
    await until('the next tick', async () => (await made(world)).length === expected.length + 1)
    if (catchUp !== 'all') expect(world.log.filter(({ message }) => message === 'ticks were missed')).toHaveLength(1)
  })
})

test('a tick makes no second task while the one before has not ended, unless that is allowed', async () => {
  const world = await setup()
  const clock = await clockOf(world)
  await clock.to('2026-12-02T10:00:30Z')
  const slow = gate()
  onTestFinished(() => slow.open())
  await world.foothold.schedule('one', { agent: idle, input: null, cron: '* * * * *' })
  await world.foothold.schedule('many', { agent: idle, input: null, cron: '* * * * *', overlap: 'allow' })
  await world.worker([agentOf((task) => task.step('долго', () => slow.opened))])

  for (const minute of [1, 2]) {
    await clock.to(`2026-12-02T10:0${minute}:00.100Z`)
    await until('both have moved on', async () =>
      (await world.foothold.schedules()).every(({ nextAt }) => nextAt > new Date(`2026-12-02T10:0${minute}:30Z`)),
    )
  }
  expect((await made(world)).map(({ key }) => key.slice(9)).sort()).toEqual([
    'many@2026-12-02T10:01Z',
    'many@2026-12-02T10:02Z',
    'one@2026-12-02T10:01Z',
  ])

  slow.open()
  await until('all have ended', async () => (await world.foothold.tasks({ status: 'completed' })).items.length === 3)
  await clock.to('2026-12-02T10:04:00.100Z')
  await until('the tick after it', async () =>
    (await made(world)).some(({ key }) => key.endsWith('one@2026-12-02T10:04Z')),
  )
})

test('a clock that went a year ahead and came back neither stops a schedule nor doubles a tick', async () => {
  const world = await setup()
  const clock = await clockOf(world)
  await clock.to('2026-12-02T10:00:30Z')
  await world.foothold.schedule('each', { agent: idle, input: null, cron: '* * * * *', overlap: 'allow' })
  await world.worker([idle])
  await clock.to('2026-12-02T10:01:00.100Z')
  await until('the first tick', async () => (await made(world)).length === 1)

  await clock.to('2027-12-02T10:00:00.100Z')
  await until('a tick of the wrong year', async () => (await made(world)).length === 2)
  await clock.to('2026-12-02T10:00:50Z')
  await until('the row is back', async () => (await world.foothold.schedules())[0]?.nextAt.getUTCFullYear() === 2026)
  await clock.to('2026-12-02T10:01:00.100Z')
  await until('the tick came again', async () =>
    (await world.foothold.schedules())[0]?.nextAt.toISOString().startsWith('2026-12-02T10:02'),
  )
  await clock.to('2026-12-02T10:02:00.100Z')
  await until('the next tick', async () => (await made(world)).length === 3)

  expect((await made(world)).map(({ key }) => key.slice(14))).toEqual([
    '2026-12-02T10:01Z',
    '2026-12-02T10:02Z',
    '2027-12-02T10:00Z',
  ])
})

test('setting the same again changes nothing, another cron begins anew, and what was paused stays paused', async () => {
  const world = await setup()
  const { foothold } = world
  const clock = await clockOf(world)
  await clock.to('2026-12-02T10:00:30Z')
  const daily = { agent: idle, input: { a: 1 }, cron: '0 12 * * *' }
  await foothold.schedule('daily', daily)
  const row = async () => (await world.query('select * from foothold.schedules'))[0]
  const first = await row()

  await foothold.schedule('daily', daily)
  expect(await row()).toEqual(first)

  await foothold.pauseSchedule('daily')
  await foothold.pauseSchedule('daily')
  await clock.to('2026-12-02T12:30:00Z')
  expect(await foothold.schedule('daily', { ...daily, input: { a: 2 } })).toMatchObject({
    isPaused: true,
    input: { a: 2 },
    nextAt: new Date('2026-12-02T12:00:00Z'),
  })
  await world.worker([idle])
  await foothold.unpauseSchedule('daily')
  // What went by in the pause is not owed.
  expect(await foothold.schedules()).toMatchObject([{ isPaused: false, nextAt: new Date('2026-12-03T12:00:00Z') }])

  expect(await foothold.schedule('daily', { ...daily, cron: '0 13 * * *' })).toMatchObject({
    nextAt: new Date('2026-12-02T13:00:00Z'),
  })
  expect(await foothold.removeSchedule('daily')).toEqual({ wasThere: true })
  expect(await foothold.removeSchedule('daily')).toEqual({ wasThere: false })
  expect(await made(world)).toEqual([])
  await expect(foothold.pauseSchedule('daily')).rejects.toThrow('There is no schedule "daily".')
})

test('a schedule set before its agent was ever seen waits for it and owes nothing less', async () => {
  const world = await setup()
  const clock = await clockOf(world)
  await clock.to('2026-12-02T10:00:30Z')
  const later = agentOf(async () => 'готово', { name: 'later' })
  await world.foothold.schedule('each', { agent: later, input: null, cron: '0 * * * *', catchUp: 'all' })
  await world.worker([idle])

  await clock.to('2026-12-02T12:00:01Z')
  await until('the worker says so', () => world.log.some(({ message }) => message.startsWith('schedule is due, but')))
  await world.worker([later], { release: 'r2' })

  await until('both ticks', async () => (await made(world)).length === 2)
})

test('times do not depend on the zones of the process or of the session', async () => {
  const world = await setup()
  const clock = await clockOf(world)
  await clock.to('2026-12-02T00:28:00Z')
  const zoned = new URL(world.url)
  zoned.searchParams.set('options', '-c TimeZone=Asia/Vladivostok')
  const before = process.env['TZ']
  process.env['TZ'] = 'America/New_York'
  onTestFinished(() => {
    if (before === undefined) delete process.env['TZ']
    else process.env['TZ'] = before
  })
  const there = await connect(zoned.href, { migrate: false, logger: 'silent' })
  onTestFinished(() => there.close())
  await there.schedule('night', { agent: idle, input: null, cron: '30 3 * * *', timeZone: 'Europe/Moscow' })
  await world.workerAt(zoned.href, [idle])

  await clock.to('2026-12-02T00:30:00.100Z')
  await until('the tick', async () => (await made(world)).length === 1)
  expect(await made(world)).toEqual([
    { tick: new Date('2026-12-02T00:30:00Z'), key: 'schedule:night@2026-12-02T00:30Z' },
  ])
})

test('a schedule that cannot be read keeps no other from running', async () => {
  const world = await setup()
  const clock = await clockOf(world)
  await clock.to('2026-12-02T10:00:30Z')
  await world.foothold.schedule('broken', { agent: idle, input: null, cron: '* * * * *' })
  await world.query(`update foothold.schedules set cron = '61 * * * *'`)
  await world.foothold.schedule('sound', { agent: idle, input: null, cron: '* * * * *' })
  await world.worker([idle])

  await clock.to('2026-12-02T10:01:00.100Z')

  await until('the sound one', async () => (await made(world)).length === 1)
  expect(world.log.filter(({ level }) => level === 'error')).toMatchObject([
    { message: 'schedule cannot be read', fields: { schedule: 'broken' } },
  ])
})

describe('what is wrong is refused at once', () => {
  const good = { agent: idle, input: null, cron: '* * * * *' }
  test.for([
    [{ cron: '0 0 30 2 *' }, /options\.cron: .* never comes/],
    [{ timeZone: 'Moscow' }, /options\.timeZone: "Moscow" is not a time zone/],
    [{ catchUp: 'some' }, /options\.catchUp: "some" is none of once, skip, all/],
    [{ catchUp: 'all', overlap: 'skip' }, /options\.overlap: .* Leave it out/],
    [{ timezone: 'UTC' }, /options\.timezone: there is no such option\. Known: .*timeZone/],
    [{ agent: 'nobody' }, /No agent named "nobody" is known here/],
    [
      { agent: agent({ name: 'strict', input: z.object({ a: z.number() }), run: async () => 1 }) },
      /does not fit agent strict/,
    ],
  ] as const)('%j', async ([wrong, message]) => {
    const { foothold } = await setup()

    await expect(foothold.schedule('s', { ...good, ...wrong } as never)).rejects.toThrow(message)
    expect(await foothold.schedules()).toEqual([])
  })
})

test('a task delayed by months starts when it is due, and its key still stands for it', async () => {
  const world = await setup()
  const { foothold, query } = world
  const clock = await clockOf(world)
  await world.worker([idle])
  const [row] = await query<{ now: Date }>('select foothold.clock() as now')
  const runAt = new Date((row as { now: Date }).now.getTime() + 120 * DAY_MS)
  const handle = await foothold.submit(idle, { заявка: 17 }, { runAt, dedupeKey: 'заявка-17' })

  for (let days = 0; days < 119; days += 17) {
    expect((await handle.state()).status).toBe('waiting')
    await clock.by(17 * DAY_MS)
    await foothold.prune()
    const again = await foothold.submit(idle, { заявка: 17 }, { runAt, dedupeKey: 'заявка-17' })
    expect({ id: again.id, created: again.created }).toEqual({ id: handle.id, created: false })
  }
  await clock.by(1 * DAY_MS + 1_000)

  expect(await handle.result({ timeoutMs: 20_000 })).toBe('готово')
})
