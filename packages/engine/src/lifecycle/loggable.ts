import { cleanMessage } from '../protocol/codec.ts'

/** A log line is for people and collectors, not for storage: wide, deep and long values are cut. */
const DEPTH_MAX = 8
const MEMBERS_MAX = 100
const CHARACTERS_MAX = 10_000

/** Any value as plain JSON: errors with their causes, no cycle, no bigint, bounded. May throw if the value's own code does. */
export function loggable(value: unknown, ancestors: readonly object[] = []): unknown {
  switch (typeof value) {
    case 'string':
      return cleanMessage(value, CHARACTERS_MAX)
    case 'number':
      return Number.isFinite(value) ? value : String(value)
    case 'bigint':
    case 'symbol':
      return String(value)
    case 'function':
      return `[function ${value.name}]`
    case 'boolean':
    case 'undefined':
      return value
    case 'object':
      return value === null ? null : loggableObject(value, ancestors)
  }
}

function loggableObject(value: object, ancestors: readonly object[]): unknown {
  if (ancestors.includes(value)) return '[cycle]'
  if (ancestors.length >= DEPTH_MAX) return '[deeper]'
  const inside = [...ancestors, value]
  if (value instanceof Error) return loggableError(value, inside)
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? 'Invalid Date' : value.toISOString()
  if (ArrayBuffer.isView(value)) return `[${value.byteLength} bytes]`
  if (value instanceof Map) return members([...value].slice(0, MEMBERS_MAX), inside)
  if (value instanceof Set || Array.isArray(value)) return list([...value], inside)
  if ('toJSON' in value && typeof value.toJSON === 'function') return loggable(value.toJSON(), inside)
  return members(Object.entries(value), inside)
}

function loggableError(
  error: Error & { readonly code?: unknown; readonly errors?: unknown },
  inside: object[],
): object {
  const { name, code, message, stack, cause, errors } = error
  return members(
    Object.entries({
      name,
      code,
      message,
      stack,
      cause,
      // A refused connection is an AggregateError whose own message is empty.
      errors: Array.isArray(errors) ? errors.slice(0, 5) : undefined,
    }).filter(([, member]) => member !== undefined),
    inside,
  )
}

function list(items: readonly unknown[], inside: readonly object[]): unknown[] {
  const kept = items.slice(0, MEMBERS_MAX).map((item) => loggable(item, inside))
  return items.length > MEMBERS_MAX ? [...kept, `[${items.length - MEMBERS_MAX} more]`] : kept
}

function members(entries: readonly (readonly [unknown, unknown])[], inside: readonly object[]): object {
  return Object.fromEntries(
    entries.slice(0, MEMBERS_MAX).map(([key, member]) => [cleanMessage(String(key), 200), loggable(member, inside)]),
  )
}
