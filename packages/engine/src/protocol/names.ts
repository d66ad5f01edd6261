import { FootholdError } from './errors.ts'

/** Keys, tenants and names stand in indexes: PostgreSQL refuses index entries over about 2,700 bytes; 512 leaves room. */
const NAME_BYTES_MAX = 512
const AGENT_NAME = /^[A-Za-z][A-Za-z0-9_.-]{0,99}$/

/** An agent's, signal's or reason's name: it becomes a metric label and part of a handler, so it is kept plain. */
export function checkName(field: string, value: unknown): void {
  if (typeof value !== 'string' || !AGENT_NAME.test(value)) {
    throw new FootholdError('INVALID_ARGUMENT', {
      field,
      problem: `${show(value)} is not a name`,
      cure: 'Use a Latin letter, then letters, digits, "_", "-" or ".", 100 characters at most.',
    })
  }
}

/** A step key, dedupe key or tenant: any well-formed text without NUL, 1 to 512 bytes in UTF-8. */
export function checkKey(field: string, value: unknown): void {
  const problem = keyProblem(value)
  if (problem !== null) throw new FootholdError('INVALID_ARGUMENT', { field, problem })
}

function keyProblem(value: unknown): string | null {
  if (typeof value !== 'string') return `${show(value)} is not a string`
  if (value === '') return 'it is empty'
  if (value.length > NAME_BYTES_MAX) return `it has ${value.length} characters, the limit is ${NAME_BYTES_MAX} bytes`
  if (value.includes('\0')) return 'it contains U+0000'
  if (/[\uD800-\uDBFF](?![\uDC00-\uDFFF])|(?<![\uD800-\uDBFF])[\uDC00-\uDFFF]/.test(value)) {
    return 'it contains half of a surrogate pair'
  }
  const bytes = utf8Bytes(value)
  return bytes > NAME_BYTES_MAX ? `it takes ${bytes} bytes, the limit is ${NAME_BYTES_MAX}` : null
}

/** Bytes of well-formed text in UTF-8, without an encoder: this room imports nothing. */
export function utf8Bytes(text: string): number {
  let bytes = 0
  for (const character of text) {
    const code = character.codePointAt(0) as number
    bytes += code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4
  }
  return bytes
}

function show(value: unknown): string {
  return typeof value === 'string' ? JSON.stringify(value.slice(0, 120)) : `a value of type ${typeof value}`
}
