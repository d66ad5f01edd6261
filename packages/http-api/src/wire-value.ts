/**
 * How values of the runtime look in JSON: a Date is an ISO string, a bigint its decimal digits as a string (a JSON number
 * would round above 2^53), a Map with text keys an object and any other Map a list of pairs, a Set a list, bytes base64,
 * NaN and the infinities their names. Undefined is left out of objects and null in lists, as JSON does it.
 */
export type WireValue =
  | string
  | number
  | boolean
  | null
  | readonly WireValue[]
  | { readonly [key: string]: WireValue | undefined }

/** Deeper than any sensible payload, shallow enough for the stack of every runtime. It also ends circles. */
const DEPTH_MAX = 500

export function toWireValue(value: unknown, depth = 0): WireValue | undefined {
  if (depth > DEPTH_MAX) throw new TypeError(`The value is nested deeper than ${DEPTH_MAX} levels, or in a circle.`)
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return value
    case 'number':
      return Number.isFinite(value) ? value : String(value)
    case 'bigint':
      return value.toString()
    case 'object':
      return value === null ? null : objectToWire(value, depth + 1)
    case 'undefined':
    case 'function':
    case 'symbol':
      return undefined
  }
}

function objectToWire(value: object, depth: number): WireValue {
  if (Array.isArray(value)) return value.map((item) => toWireValue(item, depth) ?? null)
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? null : value.toISOString()
  if (value instanceof Uint8Array) return toBase64(value)
  if (value instanceof Set) return Array.from(value, (item) => toWireValue(item, depth) ?? null)
  if (value instanceof Map) return mapToWire(value, depth)
  return entriesToWire(Object.entries(value), depth)
}

function mapToWire(map: ReadonlyMap<unknown, unknown>, depth: number): WireValue {
  const entries = [...map]
  if (entries.every((entry): entry is [string, unknown] => typeof entry[0] === 'string')) {
    return entriesToWire(entries, depth)
  }
  return entries.map((pair) => pair.map((side) => toWireValue(side, depth) ?? null))
}

function entriesToWire(entries: readonly (readonly [string, unknown])[], depth: number): WireValue {
  const pairs = entries.map(([key, item]) => [key, toWireValue(item, depth)] as const)
  // fromEntries defines rather than assigns, so that a key named __proto__ stays a key.
  return Object.fromEntries(pairs.filter(([, item]) => item !== undefined))
}

/** A multiple of three, so that the pieces' base64 joins without padding; small enough for an argument list. */
const BYTES_AT_ONCE = 0x6000

/** By btoa, because browsers have no Buffer. */
function toBase64(bytes: Uint8Array): string {
  let text = ''
  for (let start = 0; start < bytes.length; start += BYTES_AT_ONCE) {
    text += btoa(String.fromCharCode(...bytes.subarray(start, start + BYTES_AT_ONCE)))
  }
  return text
}
