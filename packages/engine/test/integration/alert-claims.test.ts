import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { claimDelivery, storeDeliveryFailure, storeShown } from '../../src/store/alert-deliveries.ts'
import { groupAlerts, lookAtGroups, readAlertWork } from '../../src/store/alerts.ts'
import type { Database } from '../../src/store/database.ts'
import { deadLetterTask } from '../../src/store/settle.ts'
import type { Fence } from '../../src/store/steps.ts'
import { support, untilWaiting, type World, worlds } from './client-world.ts'
import { databaseOn, without } from './held-sessions.ts'

/** Who may send what, statement by statement, in the orders that hurt; each guard beside the same run without it. */

const openWorld = worlds()
const options = { doing: 'testing', patienceMs: 0 }
const why = { reason: 'crm_unavailable', error: '{"code":"FAILED","message":"CRM молчит"}', detail: '', failures: 1 }

async function deadLetter({ client, hand, db }: World): Promise<Fence> {
  const { id } = await client.submit(support, { text: 'Где мой заказ?' })
  const fence = await hand.claim(id)
  await deadLetterTask(db, fence, why, options)
  return fence
}

/** One group with something to show. */
async function openGroup(world: World): Promise<void> {
  await deadLetter(world)
  await groupAlerts(world.db, ['chat'])
  await lookAtGroups(world.db)
}

const claim = (db: Database): ReturnType<typeof claimDelivery> => claimDelivery(db, 'chat', randomUUID())

async function leaseRunsOut({ sql }: World): Promise<void> {
  await sql.query(`update foothold.alert_deliveries set lease_until = foothold.clock(), due_at = foothold.clock()`)
}

async function leaseSeconds({ sql }: World): Promise<number> {
  const { rows } = await sql.query<{ seconds: number }>(
    `select extract(epoch from lease_until - foothold.clock())::float8 as seconds from foothold.alert_deliveries`,
  )
  return Math.round(rows[0]?.seconds ?? 0)
}

describe('two senders that meet in one message', () => {
  async function claimWhileAnotherDoes(world: World, db: Database): ReturnType<typeof claimDelivery> {
    await openGroup(world)
    await world.sql.query('begin')
    expect(await claim(databaseOn(world.sql))).not.toBeNull()
    const second = claim(db)
    await untilWaiting(world, 'foothold.alert_deliveries as d')
    await world.sql.query('commit')
    return second
  }

  test('one of them has it', async () => {
    await using world = await openWorld()

    expect(await claimWhileAnotherDoes(world, world.db)).toBeNull()
  })

  test('both would have it without the guard (control)', async () => {
    await using world = await openWorld()
    const guardless = without(
      world.db,
      'where coalesce(greatest(d.due_at, d.lease_until) <= foothold.clock(), true)\n     returning',
      'returning',
    )

    expect(await claimWhileAnotherDoes(world, guardless)).not.toBeNull()
  })
})

test('a sender that died in its send is followed once, at pauses that double, and a late answer of it counts no more', async () => {
  await using world = await openWorld()
  await openGroup(world)
  const first = await claim(world.db)
  expect(await claim(world.db)).toBeNull()
  const leases = [await leaseSeconds(world)]
  let last = first
  for (let death = 0; death < 6; death += 1) {
    await leaseRunsOut(world)
    last = await claim(world.db)
    leases.push(await leaseSeconds(world))
  }

  expect(leases).toEqual([30, 60, 120, 240, 480, 960, 960])
  expect(last?.doubts).toBe(7)
  if (first === null || last === null) throw new Error('nothing was claimed')
  expect(await storeShown(world.db, first, 'chat', { message: 1 })).toBe(false)
  expect(await storeShown(world.db, last, 'chat', { message: 2 })).toBe(true)
  await leaseRunsOut(world)
  expect(await claim(world.db)).toBeNull()
})

test('a refusal is no doubt: the next send is not called a repetition', async () => {
  await using world = await openWorld()
  await openGroup(world)
  for (const isDefinite of [true, true, false]) {
    const delivery = await claim(world.db)
    expect(delivery?.doubts).toBe(1)
    if (delivery === null) return
    await storeDeliveryFailure(world.db, delivery, 'chat', { message: 'нет связи', isDefinite, pauseMs: 0 })
  }

  expect(await claim(world.db)).toMatchObject({ doubts: 2, failures: 3, messageRef: null })
})

describe('an alert that comes while its group is looked at', () => {
  /** The one task of the group has been cancelled; another one dies between the look's snapshot and its write. */
  async function lookWhileOneComes(world: World, db: Database): Promise<boolean> {
    await deadLetter(world)
    await groupAlerts(world.db, [])
    await world.sql.query(`update foothold.tasks set status = 'cancelled'`)
    await deadLetter(world)
    await world.sql.query('begin')
    await groupAlerts(databaseOn(world.sql), [])
    const look = lookAtGroups(db)
    await untilWaiting(world, 'select id, seq from foothold.alert_groups')
    await world.sql.query('commit')
    await look
    const { rows } = await world.sql.query<{ resolved: boolean }>(
      'select resolved_at is not null as resolved from foothold.alert_groups',
    )
    return rows[0]?.resolved ?? false
  }

  test('keeps it open', async () => {
    await using world = await openWorld()

    expect(await lookWhileOneComes(world, world.db)).toBe(false)
  })

  test('would be resolved away without the guard (control)', async () => {
    await using world = await openWorld()

    expect(await lookWhileOneComes(world, without(world.db, 'and g.seq = j.seq'))).toBe(true)
  })
})

test('workers that group at once take each alert once, into one group', async () => {
  await using world = await openWorld()
  for (let index = 0; index < 10; index += 1) await deadLetter(world)

  const grouped = await Promise.all(Array.from({ length: 5 }, () => groupAlerts(world.db, ['chat'])))

  expect(grouped.reduce((sum, count) => sum + count, 0)).toBe(10)
  const { rows } = await world.sql.query('select id from foothold.alert_groups')
  expect(rows).toHaveLength(1)
})

test('what comes after a quiet hour opens a message of its own, and the old one still ends', async () => {
  await using world = await openWorld()
  const old = await deadLetter(world)
  await groupAlerts(world.db, ['chat'])
  await world.sql.query(`update foothold.alert_groups set last_alert_at = last_alert_at - interval '61 minutes'`)

  await deadLetter(world)
  await groupAlerts(world.db, ['chat'])
  await world.client.cancel(old.taskId as never)
  const looked = await lookAtGroups(world.db)

  expect(looked.map(({ tasks, standing, isResolved }) => ({ tasks, standing, isResolved }))).toEqual(
    expect.arrayContaining([
      { tasks: 1, standing: 0, isResolved: true },
      { tasks: 1, standing: 1, isResolved: false },
    ]),
  )
})

test('a channel that is new hears of open groups alone; one that was told hears of the end too', async () => {
  await using world = await openWorld()
  await openGroup(world)
  const told = await claim(world.db)
  if (told === null) throw new Error('nothing was claimed')
  await storeShown(world.db, told, 'chat', { message: 1 })
  expect((await readAlertWork(world.db, ['chat', 'new'])).channels).toEqual(['new'])

  await world.sql.query(`update foothold.tasks set status = 'cancelled'`)
  await world.sql.query(`update foothold.alert_groups set look_at = foothold.clock()`)
  await lookAtGroups(world.db)
  await leaseRunsOut(world)

  expect((await readAlertWork(world.db, ['chat', 'new'])).channels).toEqual(['chat'])
})
