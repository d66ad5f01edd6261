import { exactIntegers } from './exact-integers.ts'

/**
 * One text for all JSON texts that say the same: keys sorted, no white space, one spelling per string and number. For
 * hashes of bodies.
 */
export function canonicalJson(encoded: string): string {
  return JSON.stringify(sorted(JSON.parse(exactIntegers(encoded))))
}

function sorted(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(sorted)
  const members = Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1))
  // fromEntries defines its properties, so a key `__proto__` stays one.
  return Object.fromEntries(members.map(([key, member]) => [key, sorted(member)]))
}
