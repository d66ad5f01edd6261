import { expect, test } from 'vitest'
import { promoteTasks } from '../../src/store/promote.ts'
import { support, worlds } from './client-world.ts'

const openWorld = worlds()

test('with nothing that waits for a time, the promoter is told that nothing is due', async () => {
  await using world = await openWorld()
  const forPerson = await world.hand.claim((await world.client.submit(support, { text: 'Где заказ?' })).id)
  await world.hand.park(forPerson, { waitingFor: 'person', reason: 'effect_unknown' })

  expect(await promoteTasks(world.db)).toMatchObject({ handlers: [], count: 0, nextInMs: null })
})

test('the promoter is told when the next wait is due', async () => {
  await using world = await openWorld()
  for (const wakeInMs of [60_000, 30_000]) {
    const fence = await world.hand.claim((await world.client.submit(support, { text: 'Где заказ?' })).id)
    await world.hand.park(fence, { waitingFor: 'sleep', wakeInMs })
  }

  const { count, nextInMs } = await promoteTasks(world.db)

  expect(count).toBe(0)
  expect(nextInMs).toBeGreaterThan(0)
  expect(nextInMs).toBeLessThanOrEqual(30_000)
})
