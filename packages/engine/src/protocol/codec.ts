import { fromBase64, toBase64 } from './base64.ts'
import { FootholdError, isFootholdError } from './errors.ts'
import { exactIntegers } from './exact-integers.ts'
import { utf8Bytes } from './names.ts'

/**
 * How values are stored: JSON text for a PostgreSQL `json` column. Plain JSON stays plain; what JSON cannot say carries
 * a tag, `{"$foothold":"date","value":"…"}`.
 *
 * 1. decode(encode(value)) equals value and shares nothing with it, or encode refuses and names the path.
 * 2. Every output is accepted by type `json`: NUL and lone surrogates leave JSON.stringify as \u escapes.
 * 3. A value is read once, into a copy that JSON.stringify then writes: no toJSON of the value's is called, and a key
 *    `__proto__` is a key like any other.
 */

/** The largest payload: it is sent, replayed and held in memory whole, several times over, by every attempt. */
export const PAYLOAD_BYTES_MAX: number = 16 * 1024 * 1024
/** Far below what overflows the stack here (thousands) or in PostgreSQL's parser, far above what people nest. */
const DEPTH_MAX = 500

const TAG = '$foothold'

type JsonObject = { [key: string]: unknown }
/** One step of a path; said in words only when something is refused. */
type PathPart = string | number | { readonly of: 'keys' | 'values'; readonly index: number }

export function encode(value: unknown, field: string): string {
  const copier = new Copier(field)
  let copy: unknown
  try {
    copy = copier.copy(value, 0)
  } catch (error) {
    if (isFootholdError(error)) throw error
    // An accessor or a proxy of the value threw.
    throw copier.refusal(`reading it failed (${errorText(error)})`, error)
  }
  const text = JSON.stringify(copy)
  // A UTF-16 unit takes three bytes at most, so most payloads need no count.
  if (text.length * 3 > PAYLOAD_BYTES_MAX) {
    const bytes = utf8Bytes(text)
    if (bytes > PAYLOAD_BYTES_MAX) throw tooLarge(field, bytes)
  }
  return text
}

function tooLarge(field: string, bytes: number): FootholdError {
  return new FootholdError('PAYLOAD_TOO_LARGE', { field, bytes, bytesMax: PAYLOAD_BYTES_MAX })
}

interface Copied {
  readonly copy: unknown
  readonly characters: number
  /** Levels below it. */
  readonly height: number
}

/** Makes the tree that JSON.stringify writes. */
class Copier {
  readonly #field: string
  readonly #path: PathPart[] = []
  /** `open` while inside it. */
  readonly #seen = new Map<object, Copied | 'open'>()
  /** A lower bound of the text's length. */
  #characters = 0
  #deepest = 0

  constructor(field: string) {
    this.#field = field
  }

  copy(value: unknown, depth: number): unknown {
    switch (typeof value) {
      case 'string':
        this.#count(value.length + 2)
        return value
      case 'number':
        this.#count(1)
        if (Number.isFinite(value) && !Object.is(value, -0)) return value
        return tagged('number', Object.is(value, -0) ? '-0' : String(value))
      case 'boolean':
        this.#count(4)
        return value
      case 'undefined':
        this.#count(4)
        return { [TAG]: 'undefined' }
      case 'bigint':
        return this.#bigint(value)
      case 'object':
        return value === null ? null : this.#nested(value, depth)
      case 'function':
        throw this.refusal(`a function${value.name === '' ? '' : ` (${value.name})`}`)
      case 'symbol':
        throw this.refusal('a symbol')
    }
  }

  refusal(what: string, cause?: unknown): FootholdError {
    const path = cleanMessage(`$${this.#path.map(pathText).join('')}`, 500)
    const details = { field: this.#field, path, what: cleanMessage(what, 300) }
    return new FootholdError('VALUE_NOT_STORABLE', details, cause === undefined ? undefined : { cause })
  }

  #bigint(value: bigint): unknown {
    const digits = String(value)
    this.#count(digits.length)
    return tagged('bigint', digits)
  }

  #nested(value: object, depth: number): unknown {
    const seen = this.#seen.get(value)
    if (seen === 'open') throw this.refusal('a cycle (an object inside itself)')
    if (depth + (seen?.height ?? 0) >= DEPTH_MAX) throw this.refusal(`nesting deeper than ${DEPTH_MAX} levels`)
    return seen === undefined ? this.#firstMet(value, depth) : this.#metAgain(seen, depth)
  }

  #firstMet(value: object, depth: number): unknown {
    const { deepest, characters } = { deepest: this.#deepest, characters: this.#characters }
    this.#seen.set(value, 'open')
    this.#deepest = depth
    this.#count(2)
    const copy = this.#object(value, depth + 1)
    this.#seen.set(value, { copy, characters: this.#characters - characters, height: this.#deepest - depth })
    this.#deepest = Math.max(this.#deepest, deepest)
    return copy
  }

  /** Copied once, written each time: without this, a few objects that hold one another twice take minutes to count. */
  #metAgain(seen: Copied, depth: number): unknown {
    this.#count(seen.characters)
    this.#deepest = Math.max(this.#deepest, depth + seen.height)
    return seen.copy
  }

  #object(value: object, depth: number): unknown {
    if (Array.isArray(value)) return this.#array(value, depth)
    if (value instanceof Uint8Array) return this.#bytes(value)
    const prototype: unknown = Object.getPrototypeOf(value)
    if (prototype === Date.prototype) return this.#date(value as Date)
    if (prototype === Map.prototype) return this.#map(value as Map<unknown, unknown>, depth)
    if (prototype === Set.prototype) return this.#set(value as Set<unknown>, depth)
    if (isPlain(prototype)) return this.#plain(value as JsonObject, depth)
    throw this.refusal(instanceName(value))
  }

  #plain(value: JsonObject, depth: number): unknown {
    this.#refuseSymbolKeys(value)
    const copy: JsonObject = {}
    for (const key of Object.keys(value)) {
      this.#count(key.length + 3)
      setOwn(copy, key, this.#member(key, value[key], depth))
    }
    return Object.hasOwn(copy, TAG) ? tagged('object', copy) : copy
  }

  #array(value: readonly unknown[], depth: number): unknown {
    if (Object.getPrototypeOf(value) !== Array.prototype && value.constructor?.name !== 'Array') {
      throw this.refusal(instanceName(value))
    }
    // Indices come first among the keys, so a named one (a regular expression's match has them) is the last.
    const lastKey = Object.keys(value).at(-1)
    if (lastKey !== undefined && !/^\d+$/.test(lastKey)) {
      throw this.refusal(`an array with a property ${JSON.stringify(lastKey)}`)
    }
    this.#refuseSymbolKeys(value)
    const copy: unknown[] = []
    for (let index = 0; index < value.length; index++) copy.push(this.#member(index, value[index], depth))
    return copy
  }

  #map(value: Map<unknown, unknown>, depth: number): unknown {
    this.#refuseProperties(value)
    const entries: unknown[] = []
    for (const [key, member] of value) {
      const index = entries.length
      entries.push([
        this.#member({ of: 'keys', index }, key, depth),
        this.#member({ of: 'values', index }, member, depth),
      ])
    }
    return tagged('map', entries)
  }

  #set(value: Set<unknown>, depth: number): unknown {
    this.#refuseProperties(value)
    const members: unknown[] = []
    for (const member of value) {
      members.push(this.#member({ of: 'values', index: members.length }, member, depth))
    }
    return tagged('set', members)
  }

  #date(value: Date): unknown {
    this.#refuseProperties(value)
    if (Number.isNaN(value.getTime())) throw this.refusal('an invalid Date')
    return tagged('date', value.toISOString())
  }

  #bytes(value: Uint8Array): unknown {
    // Before they are copied: what base64 makes of them is known.
    this.#count(Math.ceil(value.length / 3) * 4)
    return tagged('bytes', toBase64(value))
  }

  #member(part: PathPart, value: unknown, depth: number): unknown {
    this.#path.push(part)
    const copy = this.copy(value, depth)
    this.#path.pop()
    return copy
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

  /** Stops the copy, not only the text: a value may unfold to more than memory holds. */
  #count(characters: number): void {
    this.#characters += characters
    if (this.#characters > PAYLOAD_BYTES_MAX) throw tooLarge(this.#field, this.#characters)
  }
}

function tagged(tag: string, value: unknown): unknown {
  return { [TAG]: tag, value }
}

/** Plain assignment to `__proto__` would set the prototype. */
function setOwn(object: JsonObject, key: string, value: unknown): void {
  if (key === '__proto__') {
    Object.defineProperty(object, key, { value, enumerable: true, writable: true, configurable: true })
  } else {
    object[key] = value
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

function pathText(part: PathPart): string {
  if (typeof part === 'number') return `[${part}]`
  if (typeof part === 'object') return `.${part.of}()[${part.index}]`
  if (/^[\p{L}_$][\p{L}\p{N}_$]*$/u.test(part) && part.length <= 60) return `.${part}`
  return `[${JSON.stringify(part.length > 60 ? `${part.slice(0, 60)}…` : part)}]`
}

function errorText(error: unknown): string {
  return error instanceof Error ? error.message : typeof error
}

export function decode(text: string): unknown {
  return restored(JSON.parse(exactIntegers(text)), 0)
}

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

function untagged(object: JsonObject, depth: number): unknown {
  const { [TAG]: tag, value } = object
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
  throw unreadable(`${JSON.stringify(object).slice(0, 120)} carries a tag this version does not know`)
}

function restoredDate(text: string): Date {
  const date = new Date(text)
  if (Number.isNaN(date.getTime())) throw unreadable(`${JSON.stringify(text.slice(0, 60))} is not a date`)
  return date
}

function restoredBytes(base64: string): Uint8Array {
  const bytes = fromBase64(base64)
  if (bytes === null) throw unreadable('its bytes are not base64')
  return bytes
}

function unreadable(problem: string): FootholdError {
  const cure = `A key "${TAG}" in JSON marks a value of another type; escape it.`
  return new FootholdError('INVALID_ARGUMENT', { field: 'stored value', problem, cure })
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
