// Bitrix24's list queries: filter keys may carry an operator before the field's name, values are compared as text
// when they are ids and names, pages are of 50.

import { scalarText } from '../wire/scalar.ts'
import { CrmError } from './errors.ts'

export type Row = Readonly<Record<string, unknown>>

export interface Page {
  readonly rows: readonly Row[]
  readonly total: number
  readonly next: number | undefined
}

const PAGE_SIZE = 50

/** Fields may be named even while no row has them. */
export function query(
  all: readonly Row[],
  parameters: Readonly<Record<string, unknown>>,
  fields: readonly string[] = Object.keys(all[0] ?? {}),
): Page {
  const filter = asRecord(parameters.filter ?? parameters.FILTER, 'filter')
  const order = asRecord(parameters.order ?? parameters.ORDER, 'order')
  const start = Number(parameters.start ?? 0)
  if (!Number.isInteger(start)) throw new CrmError(400, 'INVALID_ARGUMENT', 'start must be a whole number')
  for (const key of Object.keys(filter)) checkField(fieldOf(key).field, fields)
  const found = all.filter((row) => Object.entries(filter).every(([key, wanted]) => passes(row, key, wanted)))
  const sorted = sort(found, order)
  const from = Math.max(0, start)
  const rows = sorted.slice(from, from + PAGE_SIZE).map((row) => select(row, parameters.select ?? parameters.SELECT))
  return { rows, total: found.length, next: from + PAGE_SIZE < found.length ? from + PAGE_SIZE : undefined }
}

const OPERATOR = /^(!=|>=|<=|!@|[=@%!><])?(.+)$/

function passes(row: Row, key: string, wanted: unknown): boolean {
  const { operator, field } = fieldOf(key)
  const value = row[field]
  const isOneOf = [wanted].flat().some((one) => scalarText(one) === scalarText(value))
  switch (operator) {
    case '!':
    case '!=':
    case '!@':
      return !isOneOf
    case '%':
      return scalarText(value).toLowerCase().includes(scalarText(wanted).toLowerCase())
    case '>':
      return compare(value, wanted) > 0
    case '>=':
      return compare(value, wanted) >= 0
    case '<':
      return compare(value, wanted) < 0
    case '<=':
      return compare(value, wanted) <= 0
    default:
      return isOneOf
  }
}

function fieldOf(key: string): { operator: string; field: string } {
  const [, operator = '=', field = key] = OPERATOR.exec(key) ?? []
  return { operator, field }
}

function checkField(field: string, fields: readonly string[]): void {
  if (fields.includes(field)) return
  throw new CrmError(400, 'INVALID_ARGUMENT', `Invalid filter: field '${field}' is not allowed in filter`)
}

function sort(rows: readonly Row[], order: Row): Row[] {
  const [field, direction] = Object.entries(order)[0] ?? []
  if (field === undefined) return [...rows]
  const sign = scalarText(direction).toUpperCase() === 'DESC' ? -1 : 1
  return rows.toSorted((a, b) => sign * compare(a[field], b[field]))
}

function select(row: Row, fields: unknown): Row {
  if (!Array.isArray(fields) || fields.length === 0 || fields.includes('*')) return row
  return Object.fromEntries(Object.entries(row).filter(([name]) => fields.includes(name)))
}

function compare(a: unknown, b: unknown): number {
  const left = scalarText(a)
  const right = scalarText(b)
  if (/^\d+$/.test(left) && /^\d+$/.test(right)) {
    const difference = BigInt(left) - BigInt(right)
    return difference < 0n ? -1 : difference > 0n ? 1 : 0
  }
  return left < right ? -1 : left > right ? 1 : 0
}

export function asRecord(value: unknown, name: string): Row {
  // PHP's empty array is what many clients send for "nothing".
  if (value === undefined || value === null || (Array.isArray(value) && value.length === 0)) return {}
  if (typeof value === 'object' && !Array.isArray(value)) return value as Row
  throw new CrmError(400, 'INVALID_ARGUMENT', `${name} must be an object`)
}
