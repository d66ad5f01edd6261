import { type RunningCrm, startCrm } from '@foothold/simulators'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { bitrixCrm } from '../src/integrations/bitrix-crm.ts'
import type { Crm, NewTicket } from '../src/ports.ts'
import { closedPort } from './closed-port.ts'

let simulator: RunningCrm
let crm: Crm

beforeAll(async () => {
  simulator = await startCrm()
  crm = bitrixCrm({ url: simulator.baseUrl, hasKeys: false })
})
beforeEach(() => simulator.control.reset())
afterAll(() => simulator.close())

const { signal } = new AbortController()
const TICKET: NewTicket = {
  clientId: '101',
  contactId: '101',
  subject: 'Где заказ?',
  description: 'Клиент ждёт заказ 5501.',
  orderId: '5501',
}

function answers(status: number, body: unknown, headers: Record<string, string> = {}) {
  return simulator.control.fault({ match: {}, fault: { kind: 'answer', status, body, headers } })
}

test('an order is read as the CRM has it now', async () => {
  expect(await crm.order('5501', signal)).toEqual({
    number: '5501',
    title: 'Кофемашина «Утро»',
    status: 'Передан в доставку',
    amount: '12900.00',
    currency: 'RUB',
    deliveryDate: '2026-12-05',
  })

  await simulator.control.call('PUT', 'orders/5501', { stage: 'Доставлен' })

  expect((await crm.order('5501', signal))?.status).toBe('Доставлен')
})

test('an order that does not exist, and a date that is not set, are answers and not errors', async () => {
  expect(await crm.order('9999', signal)).toBeNull()
  expect((await crm.order('5502', signal))?.deliveryDate).toBeNull()
})

test('ids past 2^53 keep their digits', async () => {
  const contact = await crm.contact('9007199254740993', signal)

  expect(contact).toMatchObject({ id: '9007199254740993', name: 'Ольга Крылова' })
  expect(contact?.manager).toEqual({ name: 'Олег Гусев', chatId: '5366182128746793135' })
  expect((await crm.order('9007199254740993', signal))?.title).toBe('Капучинатор')
})

test('a client whom the CRM does not know has no contact', async () => {
  expect(await crm.contact('424242', signal)).toBeNull()
  expect(await crm.contact('site:анна', signal)).toBeNull()
})

test('a ticket is found again by its key, and a key that never was is not', async () => {
  const { ticketId } = await crm.createTicket(TICKET, 'key-1', signal)

  expect(ticketId).toMatch(/^\d+$/)
  expect(await crm.findTicket('key-1', signal)).toEqual({ ticketId })
  expect(await crm.findTicket('key-2', signal)).toBeNull()
})

test('with keys the CRM itself drops the repetition', async () => {
  await simulator.control.call('PUT', 'mode', { mode: 'keys' })
  const keyed = bitrixCrm({ url: simulator.baseUrl, hasKeys: true })

  const first = await keyed.createTicket(TICKET, 'key-1', signal)

  expect(await keyed.createTicket(TICKET, 'key-1', signal)).toEqual(first)
  expect((await simulator.control.ledger()).committed).toHaveLength(1)
})

describe('a refusal is final and says what the CRM said', () => {
  test.each([400, 403, 404, 409, 422])('%i', async (status) => {
    await answers(status, { error: 'ERROR_CORE', error_description: 'Действие недоступно' })

    await expect(crm.createTicket(TICKET, 'key', signal)).rejects.toMatchObject({
      name: 'TerminalError',
      reason: 'crm_rejected',
      message: `the CRM answered crm.item.add with ${status} (ERROR_CORE: Действие недоступно)`,
    })
    expect((await simulator.control.ledger()).received).toHaveLength(1)
  })

  test('401 asks for a new authorisation', async () => {
    await answers(401, { error: 'expired_token', error_description: 'The access token provided has expired' })

    await expect(crm.order('5501', signal)).rejects.toThrow('the webhook needs to be authorised again')
  })
})

describe('a limit surely did nothing and says when to come again', () => {
  test.each([
    [429, { error: 'OPERATION_TIME_LIMIT' }, { 'retry-after': '7' }, 7_000],
    [503, { error: 'QUERY_LIMIT_EXCEEDED' }, {}, 0],
  ])('%i', async (status, body, headers, afterMs) => {
    await answers(status, body, headers as Record<string, string>)

    await expect(crm.createTicket(TICKET, 'key', signal)).rejects.toMatchObject({
      name: 'RetryError',
      reason: 'crm_unavailable',
      afterMs,
    })
  })
})

describe('where nobody can know whether the ticket was made, the outcome is unknown, after one request', () => {
  test.each([
    ['the answer is lost', { kind: 'drop_after_commit' } as const],
    ['the answer breaks off', { kind: 'cut', afterBytes: 10 } as const],
    ['a gateway answers with its own page', { kind: 'answer', status: 502, body: '<html>Bad Gateway</html>' } as const],
    ['a gateway says 503 by itself', { kind: 'answer', status: 503, body: '<html>Unavailable</html>' } as const],
    ['the success is not readable', { kind: 'answer', status: 200, body: 'ok' } as const],
  ])('%s', async (_name, fault) => {
    await simulator.control.fault({ match: {}, fault })

    await expect(crm.createTicket(TICKET, 'key', signal)).rejects.toMatchObject({
      name: 'ReasonedError',
      reason: 'crm_unavailable',
    })
    expect((await simulator.control.ledger()).received).toHaveLength(1)
  })
})

test('the webhook and its secret stand in no error', async () => {
  const elsewhere = bitrixCrm({ url: `http://127.0.0.1:${await closedPort()}/rest/1/SECRET/`, hasKeys: false })

  const error = (await elsewhere.order('5501', signal).catch((thrown: unknown) => thrown)) as Error

  expect(error).toMatchObject({ name: 'RetryError', reason: 'crm_unavailable' })
  expect(`${error.stack} ${JSON.stringify(error)} ${String(error.cause)}`).not.toContain('SECRET')
})

test('an abort ends the request with the reason of the abort', async () => {
  await simulator.control.fault({ match: {}, fault: { kind: 'hang' } })
  const stop = new AbortController()
  const asked = crm.order('5501', stop.signal)
  await simulator.control.waitForLedger({ received: 1 })

  stop.abort(new Error('graceful_shutdown'))

  await expect(asked).rejects.toThrow('graceful_shutdown')
})
