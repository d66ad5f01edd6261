import { z } from 'zod'
import { type ControlRoute, readBody } from '../control/routes.ts'
import { jsonAnswer } from '../wire/answer.ts'
import { type Order, TICKET_ENTITY_TYPE } from './records.ts'
import { type CrmSettings, settingsChange } from './settings.ts'
import { stageName } from './stages.ts'
import type { CrmState } from './state.ts'

const digits = z.string().regex(/^\d{1,19}$/, 'must be digits')

const orderChange = z.strictObject({
  stage: z.string().min(1).optional(),
  /** The same as stage. */
  status: z.string().min(1).optional(),
  amount: z.union([z.string().regex(/^\d+(\.\d{1,2})?$/, 'must be like 12900.00'), z.number().min(0)]).optional(),
  currency: z.string().length(3).optional(),
  deliveryDate: z.iso.date().nullable().optional(),
  title: z.string().min(1).optional(),
  contactId: digits.optional(),
})

export function crmControlRoutes(
  state: CrmState,
  configure: (change: Partial<CrmSettings>) => CrmSettings,
): ControlRoute[] {
  return [
    { method: 'GET', path: 'orders', handle: () => jsonAnswer(200, { orders: state.orders() }) },
    {
      method: 'PUT',
      path: 'orders/:number',
      handle: ({ number = '' }, request) => {
        const change = readBody(orderChange, request)
        const changed = changedOrder(state.order(number) ?? newOrder(number), change)
        state.putOrder(changed)
        return jsonAnswer(200, changed)
      },
    },
    {
      method: 'DELETE',
      path: 'orders/:number',
      handle: ({ number = '' }) =>
        state.removeOrder(number) ? jsonAnswer(200, { ok: true }) : jsonAnswer(404, { error: `no order ${number}` }),
    },
    { method: 'GET', path: 'items', handle: () => jsonAnswer(200, { items: state.items(TICKET_ENTITY_TYPE) }) },
    {
      method: 'PUT',
      path: 'mode',
      handle: (_, request) => {
        const { mode } = readBody(z.strictObject({ mode: z.enum(['keys', 'none']) }), request)
        return jsonAnswer(200, configure({ mode }))
      },
    },
    {
      method: 'PUT',
      path: 'settings',
      handle: (_, request) => {
        const { nextItemId, ...change } = readBody(settingsChange, request)
        if (nextItemId !== undefined) state.startItemIdsAt(BigInt(nextItemId))
        const given = Object.entries(change).filter(([, value]) => value !== undefined)
        return jsonAnswer(200, configure(Object.fromEntries(given)))
      },
    },
  ]
}

function changedOrder(order: Order, change: z.output<typeof orderChange>): Order {
  const { stage, status, amount, currency, deliveryDate, title, contactId } = change
  return {
    ...order,
    stage: stageName(stage ?? status ?? order.stage),
    amount: amount === undefined ? order.amount : withKopecks(amount),
    currency: currency ?? order.currency,
    deliveryDate: deliveryDate === undefined ? order.deliveryDate : deliveryDate,
    title: title ?? order.title,
    contactId: contactId ?? order.contactId,
  }
}

function newOrder(number: string): Order {
  const dealId = /^\d{1,17}$/.test(number) ? `9${number}` : '9'
  return {
    dealId,
    number,
    title: `Заказ ${number}`,
    stage: 'Новый',
    amount: '0.00',
    currency: 'RUB',
    deliveryDate: null,
    contactId: '101',
  }
}

function withKopecks(amount: string | number): string {
  if (typeof amount === 'number') return amount.toFixed(2)
  const [whole = '0', kopecks = ''] = amount.split('.')
  return `${whole}.${kopecks.padEnd(2, '0')}`
}
