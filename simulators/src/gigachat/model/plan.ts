// Which of the offered functions a request calls for: every order it names is looked up, and a question or a problem
// becomes one ticket. Functions are recognised by what they are called and described as, not by one fixed name.

import type { FunctionDescription } from '../chat-request.ts'
import { spokenLanguage } from './language.ts'
import { isRecord, type Prompt } from './prompt.ts'
import type { Reading } from './reading.ts'

export interface PlannedCall {
  readonly id: string
  readonly name: string
  readonly arguments: Readonly<Record<string, string>>
}

export type FunctionRole = 'order' | 'ticket' | 'other'

export function planCalls(prompt: Prompt, reading: Reading): PlannedCall[] {
  if (reading.kind !== 'request') return []
  const lookUp = prompt.functions.find((one) => roleOf(one.name) === 'order')
  const ticket = prompt.functions.find((one) => roleOf(one.name) === 'ticket')
  return [
    ...(lookUp === undefined ? [] : reading.orderNumbers.map((number) => orderCall(lookUp, number))),
    ...(ticket === undefined ? [] : [ticketCall(ticket, prompt, reading)]),
  ]
}

export function roleOf(functionName: string): FunctionRole {
  if (/ticket|issue|case|complaint|support_request/i.test(functionName)) return 'ticket'
  return /order|deal/i.test(functionName) && !/create|cancel|delete|update|add|refund/i.test(functionName)
    ? 'order'
    : 'other'
}

function orderCall(lookUp: FunctionDescription, number: string): PlannedCall {
  const [parameter = 'order_id'] = parametersOf(lookUp)
  return { id: `order-${number}`, name: lookUp.name, arguments: { [parameter]: number } }
}

const DESCRIPTION_CHARACTERS_MAX = 2000

function ticketCall(ticket: FunctionDescription, prompt: Prompt, reading: Reading): PlannedCall {
  const given: Record<string, string> = {}
  for (const parameter of parametersOf(ticket)) {
    if (/subject|title|topic|summary/i.test(parameter)) given[parameter] = subjectOf(reading)
    else if (/desc|text|body|message|detail/i.test(parameter)) given[parameter] = descriptionOf(prompt, reading)
    else if (/order|deal/i.test(parameter)) {
      const [first] = reading.orderNumbers
      if (first !== undefined) given[parameter] = first
    }
  }
  return { id: 'ticket', name: ticket.name, arguments: given }
}

function subjectOf({ language, orderNumbers, summary, isComplaint }: Reading): string {
  const isRussian = spokenLanguage(language) === 'ru'
  const kind = isComplaint ? (isRussian ? 'Жалоба' : 'Complaint') : isRussian ? 'Вопрос' : 'Question'
  const orders = orderNumbers.slice(0, 3).join(', ')
  const about = orders === '' ? '' : isRussian ? ` по заказу ${orders}` : ` about order ${orders}`
  return summary === '' ? `${kind}${about}` : `${kind}${about}: ${summary}`
}

function descriptionOf({ request, attachments }: Prompt, { attachmentNames, summary }: Reading): string {
  const files = attachmentNames.length === 0 ? '' : `\n[${attachmentNames.join(', ')}]`
  const text = request.trim() === '' ? attachments : request
  const kept = Array.from(text).slice(0, DESCRIPTION_CHARACTERS_MAX).join('')
  return `${kept}${files}`.trim() || summary || '—'
}

function parametersOf({ parameters }: FunctionDescription): string[] {
  return isRecord(parameters?.properties) ? Object.keys(parameters.properties) : []
}
