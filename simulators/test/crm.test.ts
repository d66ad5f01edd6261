import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { type CrmOptions, type RunningCrm, startCrm } from '../src/index.ts'
import { callCrm, itemsOf } from './crm-client.ts'

const running: RunningCrm[] = []

afterEach(async () => {
  for (const one of running.splice(0)) await one.close()
})

async function setup(options: CrmOptions = {}): Promise<RunningCrm> {
  const crm = await startCrm(options)
  running.push(crm)
  return crm
}

const TICKET = {
  entityTypeId: 1032,
  fields: { title: 'Где заказ?', contactId: 101, originatorId: 'foothold', originId: 'k-1' },
}

test('an order is found by its number, with the fields that were asked for', async () => {
  const crm = await setup()

  const { status, body } = await callCrm(crm, 'crm.deal.list', {
    filter: { UF_CRM_ORDER_NUMBER: '5501' },
    select: ['ID', 'STAGE_ID', 'OPPORTUNITY', 'UF_CRM_DELIVERY_DATE'],
  })

  expect(status).toBe(200)
  expect(body.result).toEqual([
    { ID: '8001', STAGE_ID: 'EXECUTING', OPPORTUNITY: '12900.00', UF_CRM_DELIVERY_DATE: '2026-12-05T03:00:00+03:00' },
  ])
  expect(body.total).toBe(1)
  expect(body.time).toHaveProperty('operating')
})

test('an order that does not exist is an empty list', async () => {
  const crm = await setup()

  const { body } = await callCrm(crm, 'crm.deal.list', { filter: { UF_CRM_ORDER_NUMBER: '9999' } })

  expect(body).toMatchObject({ result: [], total: 0 })
})

test('a changed order is answered changed, and its new stage has a name', async () => {
  const crm = await setup()
  await crm.control.call('PUT', 'orders/5501', { stage: 'Застрял на таможне', amount: '990.5', deliveryDate: null })

  const { body } = await callCrm(crm, 'crm.deal.list', { filter: { UF_CRM_ORDER_NUMBER: '5501' } })
  const [deal] = body.result as Record<string, string>[]
  const stages = await callCrm(crm, 'crm.status.list', { filter: { STATUS_ID: deal?.STAGE_ID } })

  expect(deal).toMatchObject({ OPPORTUNITY: '990.50', UF_CRM_DELIVERY_DATE: '' })
  expect(deal?.STAGE_ID).toMatch(/^UC_[0-9A-F]{6}$/)
  expect(stages.body.result).toMatchObject([{ NAME: 'Застрял на таможне' }])
})

test('a new order can be made and one removed, and a wrong change names its field', async () => {
  const crm = await setup()
  await crm.control.call('PUT', 'orders/6001', { status: 'Новый', amount: 100 })
  await crm.control.call('DELETE', 'orders/5502')

  const found = await callCrm(crm, 'crm.deal.list', { filter: { '@UF_CRM_ORDER_NUMBER': ['6001', '5502'] } })

  expect(found.body.result).toMatchObject([{ UF_CRM_ORDER_NUMBER: '6001', STAGE_ID: 'NEW', OPPORTUNITY: '100.00' }])
  await expect(crm.control.call('PUT', 'orders/5501', { deliveryDate: '05.12.2026' })).rejects.toThrow('deliveryDate')
})

test('lists are filtered by operators, sorted and paged by fifty', async () => {
  const crm = await setup()
  for (let number = 100; number < 160; number += 1) await crm.control.call('PUT', `orders/${number}`, { amount: 1 })

  const first = await callCrm(crm, 'crm.deal.list', {
    filter: { '<UF_CRM_ORDER_NUMBER': '160' },
    order: { UF_CRM_ORDER_NUMBER: 'DESC' },
  })
  const second = await callCrm(crm, 'crm.deal.list', {
    filter: { '<UF_CRM_ORDER_NUMBER': '160' },
    start: first.body.next,
  })

  expect(first.body).toMatchObject({ total: 60, next: 50 })
  expect((first.body.result as Record<string, string>[])[0]?.UF_CRM_ORDER_NUMBER).toBe('159')
  expect(second.body.result).toHaveLength(10)
  expect(second.body.next).toBeUndefined()
})

test('a contact leads to its manager and his chat, all digits kept', async () => {
  const crm = await setup()

  const contact = await callCrm(crm, 'crm.contact.get', { id: '9007199254740993' })
  const { ASSIGNED_BY_ID: managerId } = contact.body.result as { ASSIGNED_BY_ID: string }
  const manager = await callCrm(crm, 'user.get', { ID: managerId })

  expect(contact.body.result).toMatchObject({ NAME: 'Ольга', LAST_NAME: 'Крылова' })
  expect(manager.body.result).toMatchObject([{ ID: '9', UF_TELEGRAM_CHAT_ID: '5366182128746793135' }])
})

test('a ticket is created, stands in the ledger under its origin, and is found by it', async () => {
  const crm = await setup()

  const created = await callCrm(crm, 'crm.item.add', TICKET)
  const found = await callCrm(crm, 'crm.item.list', {
    entityTypeId: 1032,
    filter: { originatorId: 'foothold', originId: 'k-1' },
  })
  const others = await callCrm(crm, 'crm.item.list', {
    entityTypeId: 1032,
    filter: { originatorId: 'foothold', originId: 'k-2' },
  })

  expect(created.body.result).toMatchObject({ item: { id: 7001, title: 'Где заказ?', originId: 'k-1' } })
  expect(itemsOf(found.body)).toMatchObject([{ id: 7001 }])
  expect(itemsOf(others.body)).toEqual([])
  const { committed } = await crm.control.ledger()
  expect(committed).toMatchObject([{ kind: 'crm.item', key: 'k-1', value: { id: '7001', title: 'Где заказ?' } }])
})

test('ids past 2^53 travel as bare digits', async () => {
  const crm = await setup()
  await crm.control.call('PUT', 'settings', { nextItemId: '9007199254740993' })

  const { text } = await callCrm(crm, 'crm.item.add', {
    entityTypeId: 1032,
    fields: { title: 'Большой', contactId: 101 },
  })

  expect(text).toContain('"id":9007199254740993,')
})

test('a created ticket is invisible to a search for as long as the lag is', async () => {
  const crm = await setup({ searchLagMs: 60_000 })
  await callCrm(crm, 'crm.item.add', TICKET)
  const search = { entityTypeId: 1032, filter: { originId: 'k-1' } }

  const early = await callCrm(crm, 'crm.item.list', search)
  const byId = await callCrm(crm, 'crm.item.get', { entityTypeId: 1032, id: 7001 })
  await crm.control.call('PUT', 'settings', { searchLagMs: 0 })
  const late = await callCrm(crm, 'crm.item.list', search)

  expect(itemsOf(early.body)).toEqual([])
  expect(byId.body.result).toMatchObject({ item: { id: 7001 } })
  expect(itemsOf(late.body)).toHaveLength(1)
})

test.each([
  ['crm.item.add', { entityTypeId: 1032, fields: {} }, 400, 'CRM_FIELD_ERROR_REQUIRED'],
  [
    'crm.item.add',
    { entityTypeId: 1032, fields: { title: 'x', contactId: 999 } },
    400,
    'CRM_FIELD_ERROR_VALUE_NOT_VALID',
  ],
  ['crm.item.add', { entityTypeId: 7, fields: { title: 'x' } }, 400, 'NOT_FOUND'],
  ['crm.item.list', { entityTypeId: 1032, filter: { nothing: 1 } }, 400, 'INVALID_ARGUMENT'],
  ['crm.contact.get', { id: '404' }, 400, ''],
  ['crm.deal.forget', {}, 404, 'ERROR_METHOD_NOT_FOUND'],
])('%s with %j is refused with %i %s', async (method, parameters, status, error) => {
  const crm = await setup()

  const answer = await callCrm(crm, method, parameters)

  expect(answer.status).toBe(status)
  expect(answer.body.error).toBe(error)
  expect(answer.body.error_description).not.toBe('')
  expect((await crm.control.ledger()).committed).toEqual([])
})

test('a wrong secret in the address and a broken body are refused', async () => {
  const crm = await setup()

  const stranger = await fetch(`${crm.url}/rest/1/wrong/crm.deal.list.json`, { method: 'POST', body: '{}' })
  const broken = await fetch(`${crm.baseUrl}crm.deal.list.json`, { method: 'POST', body: '{"filter":' })

  expect(stranger.status).toBe(401)
  expect(broken.status).toBe(400)
  expect(JSON.stringify(await crm.control.ledger())).not.toContain(crm.baseUrl.split('/').at(-2))
})

test('more calls than the bucket holds are answered 503 QUERY_LIMIT_EXCEEDED', async () => {
  const crm = await setup({ queryLimit: { burst: 2, perSecond: 0.01 } })

  const answers = [
    await callCrm(crm, 'user.get', {}),
    await callCrm(crm, 'user.get', {}),
    await callCrm(crm, 'user.get', {}),
  ]

  expect(answers.map(({ status }) => status)).toEqual([200, 200, 503])
  expect(answers[2]?.body.error).toBe('QUERY_LIMIT_EXCEEDED')
})

test('with a data file what was committed is there after a restart, and a reset forgets it', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'crm-simulator-'))
  try {
    const dataFile = join(folder, 'deep', 'crm.jsonl')
    const first = await setup({ dataFile })
    await callCrm(first, 'crm.item.add', TICKET)
    await first.control.call('PUT', 'orders/5501', { stage: 'Доставлен' })
    await first.close()

    const second = await setup({ dataFile })
    const found = await callCrm(second, 'crm.item.list', { entityTypeId: 1032, filter: { originId: 'k-1' } })
    const next = await callCrm(second, 'crm.item.add', TICKET)
    const order = await callCrm(second, 'crm.deal.list', { filter: { UF_CRM_ORDER_NUMBER: '5501' } })
    await second.control.reset()
    const after = await callCrm(second, 'crm.item.list', { entityTypeId: 1032 })

    expect(itemsOf(found.body)).toMatchObject([{ id: 7001 }])
    expect(next.body.result).toMatchObject({ item: { id: 7002 } })
    expect(order.body.result).toMatchObject([{ STAGE_ID: 'WON' }])
    expect(itemsOf(after.body)).toEqual([])
  } finally {
    await rm(folder, { recursive: true })
  }
})
