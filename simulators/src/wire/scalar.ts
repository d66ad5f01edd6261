/** A string, number or boolean of a request as text; anything else is no value for a plain field, and reads as ''. */
export function scalarText(value: unknown): string {
  if (typeof value === 'string') return value
  return typeof value === 'number' || typeof value === 'bigint' || typeof value === 'boolean' ? String(value) : ''
}
