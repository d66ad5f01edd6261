import { FootholdError } from '../protocol/errors.ts'

/** Refuses what no option is called: a misspelt `dedupekey` must not silently do nothing. */
export function checkOptionNames(field: string, options: object, known: readonly string[]): void {
  if (typeof options !== 'object' || options === null) {
    throw new FootholdError('INVALID_ARGUMENT', { field, problem: 'it is not an object' })
  }
  const unknown = Object.keys(options).find((name) => !known.includes(name))
  if (unknown === undefined) return
  throw new FootholdError('INVALID_ARGUMENT', {
    field: `${field}.${unknown.slice(0, 100)}`,
    problem: 'there is no such option',
    cure: `Known: ${known.join(', ')}.`,
  })
}

export function checkDate(field: string, value: unknown): void {
  if (value instanceof Date && !Number.isNaN(value.getTime())) return
  throw new FootholdError('INVALID_ARGUMENT', { field, problem: `${shown(value)} is not a valid Date` })
}

export function checkWholeNumber(field: string, value: unknown, { min, max }: { min: number; max: number }): void {
  if (typeof value === 'number' && Number.isInteger(value) && value >= min && value <= max) return
  throw new FootholdError('INVALID_ARGUMENT', {
    field,
    problem: `${shown(value)} is not a whole number from ${min} to ${max}`,
  })
}

export function checkOneOf(field: string, value: unknown, known: readonly string[]): void {
  if (typeof value === 'string' && known.includes(value)) return
  throw new FootholdError('INVALID_ARGUMENT', {
    field,
    problem: `${shown(value)} is none of ${known.join(', ')}`,
  })
}

/** Free text of people: cleaned where it is stored, not refused. */
export function checkText(field: string, value: unknown): void {
  if (typeof value === 'string') return
  throw new FootholdError('INVALID_ARGUMENT', { field, problem: `a ${typeof value} is not a string` })
}

/** A value in a message: short, and never its contents when it is an object. */
export function shown(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value.slice(0, 100))
  return typeof value === 'object' && value !== null ? 'an object' : String(value)
}

/** Exactly one of `kinds`, as `{ agent: 'support' }`: which one, and what it says. */
export function checkOneTarget<Kind extends string>(
  target: { readonly [K in Kind]?: string | undefined },
  kinds: readonly Kind[],
): { readonly kind: Kind; readonly value: string } {
  checkOptionNames('target', target, kinds)
  const given = kinds.filter((kind) => target[kind] !== undefined)
  const [kind] = given
  if (kind === undefined || given.length > 1) {
    throw new FootholdError('INVALID_ARGUMENT', {
      field: 'target',
      problem: `${given.length} of ${kinds.join(', ')} are given`,
      cure: 'Give exactly one.',
    })
  }
  return { kind, value: target[kind] as string }
}
