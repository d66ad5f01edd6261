/** Where a step was asked for, to name both places when a key is used twice. */

type Entrance = (...args: never[]) => unknown

/**
 * The caller of `entrance`, which is on the stack: files and folders tell nothing once a program is bundled. Captured,
 * not formatted: V8 formats a stack when it is read, and hardly anybody reads this one.
 */
export function callPlace(entrance: Entrance): Error {
  const before = Error.stackTraceLimit
  Error.stackTraceLimit = 1
  const place = new Error('place')
  Error.captureStackTrace(place, entrance)
  Error.stackTraceLimit = before
  return place
}

export function placeOf(place: Error): string {
  return place.stack?.split('\n')[1]?.trim() ?? 'at an unknown place'
}
