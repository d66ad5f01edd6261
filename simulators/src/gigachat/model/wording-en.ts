import { amountText, dateText } from './figures.ts'
import type { Wording } from './wording.ts'

export const ENGLISH: Wording = {
  language: 'en',
  hello: (name) => (name === null ? 'Hello!' : `Hello, ${name}!`),
  howToHelp: 'How can we help? Please write your question, and the order number if it is about an order.',
  youAreWelcome: 'You are welcome!',
  sorry: 'We are sorry that this happened.',
  order: (number, title, status) =>
    `Order ${number}${title === null ? '' : ` (${title})`}: ${status === null ? 'no status is stated' : `its status is ${statusText(status)}`}.`,
  total: (amount, currency) => `The order total is ${amountText(amount, currency, 'en')}.`,
  deliveryOn: (date) => `The delivery date is ${dateText(date, 'en')}.`,
  noDeliveryDate: 'No delivery date is set yet.',
  orderMissing: (number) => `We could not find order ${number} in our system: please check the number.`,
  orderUnread: (number) => `We could not read the state of order ${number} just now.`,
  filesRead: (names) => `We have read your ${names.length === 1 ? 'attachment' : 'attachments'}: ${names.join(', ')}.`,
  noAnswer: 'We have no ready answer to this question.',
  ticketDone: (id) =>
    id === null
      ? 'Your request is registered and a colleague will look into it.'
      : `Your request is registered as ticket ${id} and a colleague will look into it.`,
  ticketUnknown: 'We have no confirmation yet that your request is registered: a colleague will check this.',
  ticketFailed: 'Your request could not be registered automatically.',
  otherDone: (name, fields) =>
    fields.size === 0
      ? `The action ${name} is done.`
      : `${name}: ${[...fields].map(([key, value]) => `${key} ${value}`).join(', ')}.`,
  otherUnread: (name) => `The result of ${name} is not known yet.`,
}

// The system's own word stays, so that the client can quote it; the gloss says what it means.
const GLOSSES: readonly (readonly [RegExp, string])[] = [
  [/ожидает оплат/i, 'awaiting payment'],
  [/собира|комплект/i, 'being packed'],
  [/передан.* в доставку|в пути/i, 'handed over for delivery'],
  [/готов к выдаче/i, 'ready for pickup'],
  [/^доставлен/i, 'delivered'],
  [/возврат/i, 'return in progress'],
  [/отмен/i, 'cancelled'],
  [/^нов/i, 'new'],
]

function statusText(status: string): string {
  const gloss = GLOSSES.find(([form]) => form.test(status))?.[1]
  return gloss === undefined ? `"${status}"` : `"${status}" (${gloss})`
}
