/** Where a step was asked for, to name both places when a key is used twice. */

/** Captured, not formatted: V8 formats a stack when it is read, and hardly anybody reads this one. */
export function callPlace(): Error {
  const before = Error.stackTraceLimit
  Error.stackTraceLimit = 12
  const place = new Error('place')
  Error.stackTraceLimit = before
  return place
}

/** The engine's own files, as they stand in a stack line. */
const ENGINE = decodeURIComponent(new URL('..', import.meta.url).pathname)

/** The first frame outside the engine. */
export function placeOf(place: Error): string {
  const lines = (place.stack ?? '').split('\n').slice(1)
  const line = lines.find((text) => !text.includes(ENGINE)) ?? lines.at(-1)
  return (line ?? 'at an unknown place').trim()
}
