import { expect, test } from 'vitest'
import { RetryError } from '../../src/index.ts'
import { alertWorld, failing, mood, recordingChannel } from './alert-world.ts'
import { gate, until } from './world.ts'

/** What on-call gets, through real workers: one message for a group, edited with its count, at last marked resolved. */

test('the first dead letter is told at once, later ones edit its message, and the end of all marks it resolved', async () => {
  const world = await alertWorld()
  const chat = recordingChannel()
  await world.alertWorker([chat])

  const first = await world.deadLetter()
  await until('the first message', () => chat.sent[0])
  expect(chat.sent[0]).toMatchObject({
    status: 'open',
    agent: 'test',
    reason: 'crm_unavailable',
    examined: 1,
    tasks: { total: 1, standing: 1, underWay: 0, completed: 0, cancelled: 0 },
    errors: [{ step: 'ответ', message: 'TerminalError: CRM молчит', tasks: 1 }],
    examples: [{ id: first, tenant: null }],
    repeats: [{ step: 'ответ', kind: 'step', because: 'failed', tasks: 1 }],
    effects: [],
    followUps: null,
    commands: [
      `npx foothold why ${first}`,
      `npx foothold tasks resume ${first}`,
      'npx foothold dead-letters --agent test',
    ],
  })

  const others = [await world.deadLetter(), await world.deadLetter()]
  await until('the message counts three', () => chat.last?.tasks.total === 3)
  mood.isBroken = false
  await world.foothold.cancel(first)
  for (const id of others) await world.foothold.resume(id)
  await until('it is resolved', () => chat.last?.status === 'resolved')

  expect(chat.sent).toHaveLength(1)
  expect(chat.edited.length).toBeLessThanOrEqual(3)
  expect(chat.last).toMatchObject({
    id: chat.sent[0]?.id,
    tasks: { total: 3, standing: 0, underWay: 0, completed: 2, cancelled: 1 },
    commands: [],
  })
})

test('four workers send one message for each group, and none twice', async () => {
  const world = await alertWorld()
  const chats = Array.from({ length: 4 }, () => recordingChannel())
  for (const chat of chats) await world.alertWorker([chat])

  await Promise.all(Array.from({ length: 30 }, () => world.deadLetter()))
  await until('some message counts them all', () => chats.some(({ last }) => last?.tasks.total === 30))

  expect(chats.flatMap(({ sent }) => sent)).toHaveLength(1)
})

test('a channel that is down gets everything later, and holds up neither another channel nor the tasks', async () => {
  const world = await alertWorld()
  const [down, hanging, up] = [recordingChannel('down'), recordingChannel('hanging'), recordingChannel('up')]
  const opened = gate()
  let refusals = 0
  down.before = () => {
    refusals += 1
    if (refusals < 3) throw new RetryError('nobody there')
  }
  hanging.before = () => opened.opened
  await world.alertWorker([down, hanging, up], [failing])

  const id = await world.deadLetter()
  await until('the channel that is up was told', () => up.sent[0])
  expect([down.sent, hanging.sent]).toEqual([[], []])
  mood.isBroken = false
  await world.foothold.resume(id)
  await until('the channel that is up hears of the end', () => up.last?.status === 'resolved')
  opened.open()

  await until('the one that was down hears of the end', () => down.last?.status === 'resolved')
  await until('the one that hung hears of the end', () => hanging.last?.status === 'resolved')
  for (const { sent } of [down, hanging, up]) expect(sent).toHaveLength(1)
})
