// What a function's result says of an order, whatever the fields are called: the model reads keys as a person would.

import { scalarText } from '../../wire/scalar.ts'
import { isRecord, type ToolResult } from './prompt.ts'

export interface OrderFacts {
  readonly title: string | null
  readonly status: string | null
  readonly amount: string | null
  readonly currency: string | null
  readonly deliveryDate: string | null
}

/** Whether a missing delivery date is worth a word: not when nothing will be delivered any more. */
export function awaitsDelivery({ status }: OrderFacts): boolean {
  return status === null || !/отмен|доставлен|возврат|cancel|delivered|return/i.test(status)
}

export type OrderFinding =
  | { readonly kind: 'found'; readonly number: string; readonly facts: OrderFacts }
  | { readonly kind: 'missing'; readonly number: string }
  /** The call's outcome is not known, or it failed. */
  | { readonly kind: 'unread'; readonly number: string }

export function orderFinding({ arguments: given, outcome, result }: ToolResult): OrderFinding {
  const number = scalarText(Object.values(given)[0])
  if (outcome !== 'done') return { kind: 'unread', number }
  const fields = leavesOf(result)
  if (fields.size === 0 || isAbsent(fields)) return { kind: 'missing', number }
  const facts = {
    title: pick(fields, /^(title|name|product|товар|название)$/i),
    status: pick(fields, /^(status|stage|state|stage_?name|статус|состояние|stage_?id)$/i),
    amount: pick(fields, /^(amount|opportunity|sum|total|price|cost|сумма|стоимость)$/i),
    currency: pick(fields, /^currency(_?id)?$/i),
    deliveryDate: pick(fields, /deliver|доставк|^eta$/i),
  }
  return { kind: 'found', number, facts }
}

function isAbsent(fields: ReadonlyMap<string, string>): boolean {
  if (fields.get('found') === 'false' || fields.get('exists') === 'false') return true
  return /not.?found|не найден/i.test(fields.get('error') ?? fields.get('code') ?? '')
}

/** The result's own fields by name, the outermost of a name; nulls and empty texts say nothing. */
export function leavesOf(result: unknown): Map<string, string> {
  const leaves = new Map<string, string>()
  let level: unknown[] = [result]
  while (level.length > 0) {
    const next: unknown[] = []
    for (const node of level) {
      if (Array.isArray(node)) next.push(...node)
      else if (isRecord(node)) {
        for (const [key, value] of Object.entries(node)) {
          if (typeof value === 'object' && value !== null) next.push(value)
          else if (value !== null && value !== undefined && value !== '' && !leaves.has(key))
            leaves.set(key, scalarText(value))
        }
      }
    }
    level = next
  }
  return leaves
}

export function pick(fields: ReadonlyMap<string, string>, name: RegExp): string | null {
  for (const [key, value] of fields) if (name.test(key.replace(/^UF_CRM_/, ''))) return value
  return null
}
