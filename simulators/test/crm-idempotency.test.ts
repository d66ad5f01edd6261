import { afterEach, expect, test } from 'vitest'
import { type CrmOptions, type RunningCrm, startCrm } from '../src/index.ts'
import { callCrm } from './crm-client.ts'

const running: RunningCrm[] = []

afterEach(async () => {
  for (const one of running.splice(0)) await one.close()
})

async function setup(options: CrmOptions): Promise<RunningCrm> {
  const crm = await startCrm(options)
  running.push(crm)
  return crm
}

const TICKET = { entityTypeId: 1032, fields: { title: 'Возврат', contactId: 101 } }
const KEY = { 'idempotency-key': 'task-7/ticket' }

test('with keys the same request under the same key gets the first answer again and creates nothing', async () => {
  const crm = await setup({ mode: 'keys' })

  const first = await callCrm(crm, 'crm.item.add', TICKET, KEY)
  const again = await callCrm(
    crm,
    'crm.item.add',
    { fields: { contactId: 101, title: 'Возврат' }, entityTypeId: 1032 },
    KEY,
  )

  expect(again.body.result).toEqual(first.body.result)
  expect(again.headers.get('idempotent-replayed')).toBe('true')
  const { committed, received } = await crm.control.ledger()
  expect(committed).toHaveLength(1)
  expect(received.map(({ idempotencyKey }) => idempotencyKey)).toEqual(['task-7/ticket', 'task-7/ticket'])
})

test('with keys another body under a used key is refused', async () => {
  const crm = await setup({ mode: 'keys' })
  await callCrm(crm, 'crm.item.add', TICKET, KEY)

  const other = await callCrm(crm, 'crm.item.add', { ...TICKET, fields: { title: 'Другое' } }, KEY)

  expect(other.status).toBe(422)
  expect(other.body.error).toBe('IDEMPOTENCY_KEY_REUSED')
  expect((await crm.control.ledger()).committed).toHaveLength(1)
})

test('with keys fifty requests at once under one key create one ticket', async () => {
  const crm = await setup({ mode: 'keys' })

  const answers = await Promise.all(Array.from({ length: 50 }, () => callCrm(crm, 'crm.item.add', TICKET, KEY)))

  expect(new Set(answers.map(({ text }) => text.slice(0, text.indexOf('"time"')))).size).toBe(1)
  expect((await crm.control.ledger()).committed).toHaveLength(1)
})

test('a refused request does not use its key up', async () => {
  const crm = await setup({ mode: 'keys' })
  await callCrm(crm, 'crm.item.add', { entityTypeId: 1032, fields: {} }, KEY)

  expect((await callCrm(crm, 'crm.item.add', TICKET, KEY)).status).toBe(200)
})

test('without keys the header is ignored, as the real CRM does: two requests make two tickets', async () => {
  const crm = await setup({ mode: 'keys' })
  await crm.control.call('PUT', 'mode', { mode: 'none' })

  await callCrm(crm, 'crm.item.add', TICKET, KEY)
  await callCrm(crm, 'crm.item.add', TICKET, KEY)

  expect((await crm.control.ledger()).committed).toHaveLength(2)
})

test('an answer dropped after the commit leaves one ticket that a repetition by key does not double', async () => {
  const crm = await setup({ mode: 'keys' })
  await crm.control.fault({ match: { path: 'crm.item.add' }, fault: { kind: 'drop_after_commit' } })

  await expect(callCrm(crm, 'crm.item.add', TICKET, KEY)).rejects.toThrow('fetch failed')
  const repeated = await callCrm(crm, 'crm.item.add', TICKET, KEY)

  expect(repeated.body.result).toMatchObject({ item: { id: 7001 } })
  const { received, committed } = await crm.control.ledger()
  expect(received.map(({ answer }) => answer.state)).toEqual(['dropped', 'answered'])
  expect(committed).toHaveLength(1)
})
