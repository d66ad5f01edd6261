import { expect, test } from 'vitest'
import { planSchema } from './plan.ts'

const REQUEST = 'Где заказы 5501 и № 9007199254740993?'

function parse(calls: unknown[], named = REQUEST) {
  return planSchema(named).safeParse({ language: 'ru', summary: 'Где заказы?', calls })
}

function problemsOf(calls: unknown[]): string {
  const parsed = parse(calls)
  return parsed.success ? '' : parsed.error.issues.map((i) => `${i.path.join('.')}: ${i.message}`).join('\n')
}

const ticket = {
  id: 'ticket',
  name: 'create_ticket',
  arguments: { subject: 'Где заказ?', description: 'Клиент ждёт.' },
}

test('a plan of known calls with orders that the client named is taken as it is', () => {
  const calls = [{ id: 'order-5501', name: 'get_order', arguments: { order_id: '5501' } }, ticket]

  expect(parse(calls).data?.calls).toEqual(calls)
})

test('an order id keeps every digit, written as text, with a № or as a small number', () => {
  const ids = ['9007199254740993', '№ 9007199254740993', 5501].map(
    (order_id) => parse([{ id: 'o', name: 'get_order', arguments: { order_id } }]).data?.calls[0]?.arguments.order_id,
  )

  expect(ids).toEqual(['9007199254740993', '9007199254740993', '5501'])
})

test('an order id that was rounded on its way is refused', () => {
  expect(problemsOf([{ id: 'o', name: 'get_order', arguments: { order_id: Number('9007199254740993') } }])).toContain(
    'calls.0.arguments.order_id',
  )
})

test('a call about an order that the client never named is refused', () => {
  const problems = problemsOf([{ id: 'o', name: 'get_order', arguments: { order_id: '5502' } }])

  expect(problems).toContain('the client named no order 5502')
})

test('a part of a longer number is not a named order', () => {
  expect(problemsOf([{ id: 'o', name: 'get_order', arguments: { order_id: '900' } }])).toContain('named no order 900')
})

test('unknown functions, missing arguments and odd ids are refused', () => {
  expect(problemsOf([{ id: 'x', name: 'delete_client', arguments: {} }])).toContain('calls.0.name')
  expect(problemsOf([{ id: 'x', name: 'get_order', arguments: {} }])).toContain('calls.0.arguments.order_id')
  expect(problemsOf([{ ...ticket, id: '../../etc' }])).toContain('calls.0.id')
  expect(problemsOf([{ ...ticket, arguments: { subject: ' ', description: 'x' } }])).toContain('subject: is empty')
})

test('two tickets for one request are refused, and so is one id for two calls', () => {
  const second = { ...ticket, id: 'ticket-2', arguments: { subject: 'Другое', description: 'y' } }

  expect(problemsOf([ticket, second])).toContain('more than one create_ticket')
  expect(problemsOf([ticket, { id: 'ticket', name: 'get_order', arguments: { order_id: '5501' } }])).toContain(
    'used twice',
  )
})

test('the same call under two ids happens once', () => {
  const calls = ['a', 'b'].map((id) => ({ id, name: 'get_order', arguments: { order_id: '5501' } }))

  expect(parse(calls).data?.calls.map((call) => call.id)).toEqual(['a'])
})

test('a plan without end is refused', () => {
  const named = Array.from({ length: 40 }, (_, index) => String(7_000 + index))
  const calls = named.map((order_id) => ({ id: `o-${order_id}`, name: 'get_order', arguments: { order_id } }))

  expect(parse(calls, named.join(' ')).error?.issues[0]?.message).toContain('more than 12 calls')
})

test('U+0000 and half a surrogate pair in a ticket do not survive into the CRM', () => {
  const odd = { ...ticket, arguments: { subject: 'a\0b', description: 'c\uD800d' } }

  expect(parse([odd]).data?.calls[0]?.arguments).toEqual({ subject: 'a\u2400b', description: 'c\uFFFDd' })
})
