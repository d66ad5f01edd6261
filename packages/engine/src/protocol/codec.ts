import { FootholdError, isFootholdError } from './errors.ts'
import { utf8Bytes } from './names.ts'

/**
 * How values are stored: JSON text for a PostgreSQL `json` column. Plain JSON stays plain; what JSON cannot say carries
 * a tag, `{"$foothold":"date","value":"…"}`.
 *
 * 1. decode(encode(value)) equals value and shares nothing with it, or encode refuses and names the path.
 * 2. Every output is accepted by type `json`: NUL and lone surrogates leave JSON.stringify as \u escapes.
 * 3. Text is written member by member, never through an object of ours: a key `__proto__` is a key like any other, and
 *    nobody's toJSON is called.
 */

/** The largest payload: it is sent, replayed and held in memory whole, several times over, by every attempt. */
export const PAYLOAD_BYTES_MAX: number = 16 * 1024 * 1024
/** Far below what overflows the stack here (thousands) or in PostgreSQL's parser, far above what people nest. */
const DEPTH_MAX = 500

const TAG = '$foothold'
// String.fromCharCode takes its bytes as arguments, which live on the stack.
const BASE64_CHUNK_BYTES = 0x6000

export function encode(value: unknown, field: string): string {
  const writer = new Writer(field)
  try {
    writer.value(value, 0)
  } catch (error) {
    if (isFootholdError(error)) throw error
    // An accessor or a proxy of the value threw.
    throw writer.refusal(`reading it failed (${errorText(error)})`, error)
  }
  return writer.text()
}

class Writer {
  readonly #field: string
  readonly #pieces: string[] = []
  readonly #path: string[] = ['$']
  readonly #ancestors = new Set<object>()
  #characters = 0

  constructor(field: string) {
    this.#field = field
  }

  text(): string {
    const text = this.#pieces.join('')
    // A UTF-16 unit takes three bytes at most, so most payloads need no count.
    if (text.length * 3 > PAYLOAD_BYTES_MAX) {
      const bytes = utf8Bytes(text)
      if (bytes > PAYLOAD_BYTES_MAX) throw this.#tooLarge(bytes)
    }
    return text
  }

  value(value: unknown, depth: number): void {
    switch (typeof value) {
      case 'string':
        return this.#put(JSON.stringify(value))
      case 'number':
        return this.#number(value)
      case 'boolean':
        return this.#put(value ? 'true' : 'false')
      case 'undefined':
        return this.#put(`{"${TAG}":"undefined"}`)
      case 'bigint':
        return this.#put(`{"${TAG}":"bigint","value":"${value}"}`)
      case 'object':
        return value === null ? this.#put('null') : this.#nested(value, depth)
      case 'function':
        throw this.refusal(`a function${value.name === '' ? '' : ` (${value.name})`}`)
      case 'symbol':
        throw this.refusal('a symbol')
    }
  }

  refusal(what: string, cause?: unknown): FootholdError {
    const details = { field: this.#field, path: cleanMessage(this.#path.join(''), 500), what: cleanMessage(what, 300) }
    return new FootholdError('VALUE_NOT_STORABLE', details, cause === undefined ? undefined : { cause })
  }

  #number(value: number): void {
    if (Number.isFinite(value) && !Object.is(value, -0)) return this.#put(String(value))
    this.#put(`{"${TAG}":"number","value":"${Object.is(value, -0) ? '-0' : value}"}`)
  }

  #nested(value: object, depth: number): void {
    if (this.#ancestors.has(value)) throw this.refusal('a cycle (an object inside itself)')
    if (depth >= DEPTH_MAX) throw this.refusal(`nesting deeper than ${DEPTH_MAX} levels`)
    this.#ancestors.add(value)
    this.#object(value, depth + 1)
    this.#ancestors.delete(value)
  }

  #object(value: object, depth: number): void {
    if (Array.isArray(value)) return this.#array(value, depth)
    if (value instanceof Uint8Array) return this.#bytes(value)
    const prototype: unknown = Object.getPrototypeOf(value)
    if (prototype === Date.prototype) return this.#date(value as Date)
    if (prototype === Map.prototype) return this.#map(value as Map<unknown, unknown>, depth)
    if (prototype === Set.prototype) return this.#set(value as Set<unknown>, depth)
    if (isPlain(prototype)) return this.#plain(value as Record<string, unknown>, depth)
    throw this.refusal(instanceName(value))
  }

  #plain(value: Record<string, unknown>, depth: number): void {
    this.#refuseSymbolKeys(value)
    const keys = Object.keys(value)
    const isEscaped = keys.includes(TAG)
    if (isEscaped) this.#put(`{"${TAG}":"object","value":`)
    let before = '{'
    for (const key of keys) {
      this.#put(before + JSON.stringify(key) + ':')
      this.#member(memberPath(key), value[key], depth)
      before = ','
    }
    this.#put(keys.length === 0 ? '{}' : '}')
    if (isEscaped) this.#put('}')
  }

  #array(value: readonly unknown[], depth: number): void {
    if (Object.getPrototypeOf(value) !== Array.prototype && value.constructor?.name !== 'Array') {
      throw this.refusal(instanceName(value))
    }
    // Indices come first among the keys, so a named one (a regular expression's match has them) is the last.
    const lastKey = Object.keys(value).at(-1)
    if (lastKey !== undefined && !/^\d+$/.test(lastKey)) {
      throw this.refusal(`an array with a property ${JSON.stringify(lastKey)}`)
    }
    this.#put('[')
    for (let index = 0; index < value.length; index++) {
      if (index > 0) this.#put(',')
      this.#member(`[${index}]`, value[index], depth)
    }
    this.#put(']')
  }

  #map(value: Map<unknown, unknown>, depth: number): void {
    this.#refuseProperties(value)
    this.#put(`{"${TAG}":"map","value":[`)
    let index = 0
    for (const [key, member] of value) {
      this.#put(index === 0 ? '[' : ',[')
      this.#member(`.keys()[${index}]`, key, depth)
      this.#put(',')
      this.#member(`.values()[${index}]`, member, depth)
      this.#put(']')
      index += 1
    }
    this.#put(']}')
  }

  #set(value: Set<unknown>, depth: number): void {
    this.#refuseProperties(value)
    this.#put(`{"${TAG}":"set","value":[`)
    let index = 0
    for (const member of value) {
      if (index > 0) this.#put(',')
      this.#member(`.values()[${index}]`, member, depth)
      index += 1
    }
    this.#put(']}')
  }

  #date(value: Date): void {
    this.#refuseProperties(value)
    if (Number.isNaN(value.getTime())) throw this.refusal('an invalid Date')
    this.#put(`{"${TAG}":"date","value":"${value.toISOString()}"}`)
  }

  #bytes(value: Uint8Array): void {
    // Refused before it is copied: what base64 makes of it is known.
    const bytes = Math.ceil(value.length / 3) * 4
    if (bytes > PAYLOAD_BYTES_MAX) throw this.#tooLarge(bytes)
    let binary = ''
    for (let at = 0; at < value.length; at += BASE64_CHUNK_BYTES) {
      binary += String.fromCharCode(...value.subarray(at, at + BASE64_CHUNK_BYTES))
    }
    this.#put(`{"${TAG}":"bytes","value":"${btoa(binary)}"}`)
  }

  #member(path: string, value: unknown, depth: number): void {
    this.#path.push(path)
    this.value(value, depth)
    this.#path.pop()
  }

  #refuseProperties(value: object): void {
    const [key] = Object.keys(value)
    if (key !== undefined) throw this.refusal(`${instanceName(value)} with a property ${JSON.stringify(key)}`)
    this.#refuseSymbolKeys(value)
  }

  #refuseSymbolKeys(value: object): void {
    for (const key of Object.getOwnPropertySymbols(value)) {
      if (Object.prototype.propertyIsEnumerable.call(value, key)) throw this.refusal(`a symbol as key (${String(key)})`)
    }
  }

  #put(piece: string): void {
    this.#pieces.push(piece)
    this.#characters += piece.length
    // Stops here, not at the end: one object met again and again can unfold to more than memory holds.
    if (this.#characters > PAYLOAD_BYTES_MAX) throw this.#tooLarge(utf8Bytes(this.#pieces.join('')))
  }

  #tooLarge(bytes: number): FootholdError {
    return new FootholdError('PAYLOAD_TOO_LARGE', { field: this.#field, bytes, bytesMax: PAYLOAD_BYTES_MAX })
  }
}

/** Also an object of another realm (node:vm): its Object.prototype is not ours. */
function isPlain(prototype: unknown): boolean {
  if (prototype === null || prototype === Object.prototype) return true
  return (
    typeof prototype === 'object' &&
    Object.getPrototypeOf(prototype) === null &&
    Object.hasOwn(prototype, 'isPrototypeOf')
  )
}

function instanceName(value: object): string {
  const { constructor } = value
  const name = typeof constructor === 'function' && constructor.name !== '' ? constructor.name : 'a class'
  if (value instanceof Promise) return 'a promise (await it first)'
  return `an instance of ${name}`
}

function memberPath(key: string): string {
  if (/^[\p{L}_$][\p{L}\p{N}_$]*$/u.test(key) && key.length <= 60) return `.${key}`
  return `[${JSON.stringify(key.length > 60 ? `${key.slice(0, 60)}…` : key)}]`
}

function errorText(error: unknown): string {
  return error instanceof Error ? error.message : typeof error
}

export function decode(text: string): unknown {
  return restored(JSON.parse(text), 0)
}

type JsonObject = { [key: string]: unknown }

/** Rebuilds in place: the parsed tree is ours alone. */
function restored(value: unknown, depth: number): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (depth >= DEPTH_MAX) throw unreadable(`it is nested deeper than ${DEPTH_MAX} levels`)
  if (Array.isArray(value)) return restoredArray(value, depth)
  return Object.hasOwn(value, TAG) ? untagged(value as JsonObject, depth) : restoredObject(value as JsonObject, depth)
}

function restoredArray(value: unknown[], depth: number): unknown[] {
  for (let index = 0; index < value.length; index++) value[index] = restored(value[index], depth + 1)
  return value
}

function restoredObject(value: JsonObject, depth: number): JsonObject {
  for (const key of Object.keys(value)) {
    const before = value[key]
    const after = restored(before, depth + 1)
    // Only a tag gives another value. JSON.parse made `__proto__` an own property; assigning to one is safe.
    if (after !== before) value[key] = after
  }
  return value
}

function untagged(tagged: JsonObject, depth: number): unknown {
  const tag = tagged[TAG]
  const { value } = tagged
  if (tag === 'undefined') return undefined
  if (typeof value === 'string') {
    if (tag === 'date') return restoredDate(value)
    if (tag === 'bigint' && /^-?\d+$/.test(value)) return BigInt(value)
    if (tag === 'number' && ['NaN', 'Infinity', '-Infinity', '-0'].includes(value)) return Number(value)
    if (tag === 'bytes') return restoredBytes(value)
  } else if (Array.isArray(value)) {
    if (tag === 'set') return new Set(restoredArray(value, depth))
    if (tag === 'map' && value.every((entry) => Array.isArray(entry) && entry.length === 2)) {
      return new Map(value.map((entry) => restoredArray(entry, depth) as [unknown, unknown]))
    }
  } else if (tag === 'object' && typeof value === 'object' && value !== null) {
    return restoredObject(value as JsonObject, depth)
  }
  throw unreadable(`${JSON.stringify(tagged).slice(0, 120)} carries a tag this version does not know`)
}

function restoredDate(text: string): Date {
  const date = new Date(text)
  if (Number.isNaN(date.getTime())) throw unreadable(`${JSON.stringify(text.slice(0, 60))} is not a date`)
  return date
}

function restoredBytes(base64: string): Uint8Array {
  let binary: string
  try {
    binary = atob(base64)
  } catch (error) {
    throw unreadable('its bytes are not base64', error)
  }
  const bytes = new Uint8Array(binary.length)
  for (let index = 0; index < binary.length; index++) bytes[index] = binary.charCodeAt(index)
  return bytes
}

function unreadable(problem: string, cause?: unknown): FootholdError {
  return new FootholdError(
    'INVALID_ARGUMENT',
    { field: 'stored value', problem, cure: `A key "${TAG}" in JSON marks a value of another type; escape it.` },
    cause === undefined ? undefined : { cause },
  )
}

/**
 * For messages that go into text columns, which take neither NUL nor half a surrogate pair: both become visible
 * replacements. Longer texts are cut between characters and end in an ellipsis.
 */
export function cleanMessage(text: string, charactersMax: number = 2000): string {
  let kept = text
  if (text.length > charactersMax) {
    const end = Math.max(charactersMax - 1, 0)
    kept = text.slice(0, isHighSurrogate(text, end - 1) ? end - 1 : end) + (charactersMax > 0 ? '…' : '')
  }
  return kept.replaceAll('\0', '\u2400').replace(/\p{Surrogate}/gu, '\uFFFD')
}

function isHighSurrogate(text: string, index: number): boolean {
  const unit = text.charCodeAt(index)
  return unit >= 0xd800 && unit <= 0xdbff
}
