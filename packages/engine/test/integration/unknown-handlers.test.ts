import { expect, test } from 'vitest'
import { type AlertWorld, alertWorld, recordingChannel } from './alert-world.ts'
import { agentOf, until } from './world.ts'

/** Pending tasks of a version that nobody has, some of them for a long time. */
async function stranded({ foothold, query }: AlertWorld, count: number): Promise<void> {
  const gone = agentOf(async () => null, { name: 'gone', version: 3 })
  for (let index = 0; index < count; index += 1) await foothold.submit(gone, null, { tenant: `клиент ${index}` })
  await query(`update foothold.tasks set run_at = run_at - interval '61 seconds' where agent = 'gone'`)
}

const groupsOf = ({ query }: AlertWorld): Promise<Record<string, unknown>[]> =>
  query(`select agent, reason, standing, resolved_at is not null as resolved from foothold.alert_group_view`)

test('a handler that no live worker has is one alarm, whoever looks, until somebody has it', async () => {
  const world = await alertWorld()
  const chat = recordingChannel()
  await stranded(world, 3)
  for (let count = 0; count < 3; count += 1) await world.alertWorker([chat])

  await until('on-call is told', () => chat.sent.length === 1)
  expect(chat.last).toMatchObject({
    agent: 'gone@3',
    reason: 'handler_unknown',
    status: 'open',
    tasks: { total: 3, standing: 3 },
    commands: ['npx foothold workers', 'npx foothold doctor'],
  })
  expect(await groupsOf(world)).toEqual([{ agent: 'gone@3', reason: 'handler_unknown', standing: 3, resolved: false }])

  await world.alertWorker([], [agentOf(async () => null, { name: 'gone', version: 4, continues: [3] })])
  await until('it is over', () => chat.last?.status === 'resolved')
  expect(chat.sent).toHaveLength(1)
  expect(await groupsOf(world)).toHaveLength(1)
}, 30_000)

test('neither a deploy of everything at once nor a paused agent raises it', async () => {
  const world = await alertWorld()
  const { foothold, query, worker } = world
  // Seen a moment ago: its successor is on its way.
  const leaving = await worker([agentOf(async () => null, { name: 'gone', version: 3 })])
  await leaving.drain()
  await stranded(world, 1)
  await foothold.submit(
    agentOf(async () => null, { name: 'paused' }),
    null,
  )
  await query(`update foothold.tasks set run_at = run_at - interval '61 seconds'`)
  await foothold.pause({ agent: 'paused' })
  const chat = recordingChannel()
  // Of a third agent, which is to be raised: so somebody has looked.
  await foothold.submit(
    agentOf(async () => null, { name: 'lost' }),
    null,
  )
  await query(`update foothold.tasks set run_at = run_at - interval '61 seconds' where agent = 'lost'`)
  await world.alertWorker([chat])

  await until('on-call is told', () => chat.sent.length > 0)
  expect(await groupsOf(world)).toMatchObject([{ agent: 'lost@1' }])
}, 30_000)
