import { describe, expect, test } from 'vitest'
import type { TaskId } from '../../src/protocol/task-context.ts'
import { openDatabase } from '../../src/store/database.ts'
import { deadLetterTask } from '../../src/store/settle.ts'
import type { Fence } from '../../src/store/steps.ts'
import { readCandidates, takeCandidates } from '../../src/store/sweep.ts'
import { support, type World, worlds } from './client-world.ts'
import { startCuttingProxy } from './cutting-proxy.ts'
import { without } from './held-sessions.ts'

/** An alert stands exactly where a dead letter does: one statement makes both. */

const openWorld = worlds()
const options = { doing: 'testing', patienceMs: 0 }
const why = { reason: 'crm_unavailable', error: '{"code":"FAILED","message":"CRM молчит"}', detail: '', failures: 1 }

interface Alert {
  readonly taskId: string
  readonly attempt: number
  readonly agent: string
  readonly reason: string
}

async function alertsIn({ sql }: World): Promise<Alert[]> {
  const answer = await sql.query<Alert>(
    `select task_id as "taskId", attempt, agent, reason from foothold.alerts order by at`,
  )
  return answer.rows
}

async function claimed({ client, hand }: World): Promise<Fence> {
  const { id } = await client.submit(support, { text: 'Где мой заказ?' })
  return hand.claim(id)
}

async function statusOf({ client }: World, id: string): Promise<string | undefined> {
  return (await client.task(id as TaskId))?.status
}

/** Its worker was lost while it ran this task alone, and so were two before. */
async function thirdCrash(world: World): Promise<Fence> {
  const fence = await claimed(world)
  await world.sql.query(`update foothold.tasks set crash_count = 2, crashes_total = 2 where id = $1`, [fence.taskId])
  await world.sql.query(
    `update foothold.workers set status = 'lost', lost_while = 'active', lost_running = 1 where id = $1`,
    [fence.workerId],
  )
  return fence
}

describe('the statement that makes a dead letter', () => {
  test('leaves its alert, by a worker', async () => {
    await using world = await openWorld()
    const fence = await claimed(world)

    await deadLetterTask(world.db, fence, why, options)

    expect(await alertsIn(world)).toEqual([
      { taskId: fence.taskId, attempt: 1, agent: 'support', reason: 'crm_unavailable' },
    ])
  })

  test('leaves its alert, by the sweep after the third crash', async () => {
    await using world = await openWorld()
    const fence = await thirdCrash(world)

    await takeCandidates(world.db, await readCandidates(world.db))

    expect(await statusOf(world, fence.taskId)).toBe('dead_letter')
    expect(await alertsIn(world)).toEqual([{ taskId: fence.taskId, attempt: 1, agent: 'support', reason: 'orphaned' }])
  })

  test('leaves neither where it is not allowed', async () => {
    await using world = await openWorld()
    const fence = await claimed(world)

    expect(await deadLetterTask(world.db, { ...fence, attempt: 2 }, why, options)).toBeNull()

    expect(await statusOf(world, fence.taskId)).toBe('processing')
    expect(await alertsIn(world)).toEqual([])
  })

  // Whatever stops the alert stops the dead letter: there is no moment between the two in which a process could die.
  test.for(['a worker', 'the sweep'] as const)('leaves neither where the alert is refused (%s)', async (by) => {
    await using world = await openWorld()
    const fence = by === 'a worker' ? await claimed(world) : await thirdCrash(world)
    await world.sql.query(`alter table foothold.alerts add constraint refused check (reason = 'nothing')`)
    const act = async (): Promise<unknown> =>
      by === 'a worker'
        ? deadLetterTask(world.db, fence, why, options)
        : takeCandidates(world.db, await readCandidates(world.db))

    try {
      await expect(act()).rejects.toThrow('refused')

      expect(await statusOf(world, fence.taskId)).toBe('processing')
      expect(await alertsIn(world)).toEqual([])
    } finally {
      await world.sql.query(`alter table foothold.alerts drop constraint refused`)
    }
  })

  test('leaves one alert when its answer is lost and it is sent again', async () => {
    await using world = await openWorld()
    const fence = await claimed(world)
    await using proxy = await startCuttingProxy(world.url)
    const db = openDatabase({ url: proxy.url, poolSize: 1 })
    proxy.cutNext('insert into foothold.alerts', 'after')

    await deadLetterTask(db, fence, why, { doing: 'testing' })
    await db.close()

    expect(proxy.cuts).toBe(1)
    expect(await alertsIn(world)).toHaveLength(1)
  })

  test('would leave a silent dead letter without its insert (control)', async () => {
    await using world = await openWorld()
    const fence = await claimed(world)
    const guardless = without(
      world.db,
      'dead join foothold.tasks t on t.id = dead.id\n',
      'dead join foothold.tasks t on false\n',
    )

    await deadLetterTask(guardless, fence, why, options)

    expect(await statusOf(world, fence.taskId)).toBe('dead_letter')
    expect(await alertsIn(world)).toEqual([])
  })
})

test('a task that is resumed and dies again leaves a second alert, of its later attempt', async () => {
  await using world = await openWorld()
  const fence = await claimed(world)
  await deadLetterTask(world.db, fence, why, options)
  await world.client.resume(fence.taskId as TaskId)

  await deadLetterTask(world.db, await world.hand.claim(fence.taskId as TaskId), why, options)

  expect((await alertsIn(world)).map(({ attempt }) => attempt)).toEqual([1, 2])
})
