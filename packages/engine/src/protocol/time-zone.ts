import { FootholdError } from './errors.ts'

/**
 * Zones by the rules that Node.js carries (IANA, through ICU). All is reckoned in milliseconds: an instant since 1970 in
 * UTC, and a wall time as if the wall hung in UTC.
 */

export const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
export const DAY_MS: number = 24 * HOUR_MS

/** Making one costs some hundred times what asking it does. */
const formats = new Map<string, Intl.DateTimeFormat>()
const FORMATS_MAX = 500

export function checkTimeZone(field: string, value: unknown): void {
  try {
    // Newer Node.js would take an offset too, older would not; and an offset knows no summer.
    if (typeof value === 'string' && /^[A-Za-z]/.test(value)) return void formatOf(value)
  } catch {
    // Said below.
  }
  throw new FootholdError('INVALID_ARGUMENT', {
    field,
    problem: `${typeof value === 'string' ? JSON.stringify(value.slice(0, 100)) : `a value of type ${typeof value}`} is not a time zone`,
    cure: 'Use a name of the IANA list, such as Europe/Moscow or UTC.',
  })
}

/** What a clock on the wall is ahead of UTC. */
export function offsetMs(timeZone: string, atMs: number): number {
  const match = /GMT(?:([+-])(\d\d):(\d\d)(?::(\d\d))?)?$/.exec(formatOf(timeZone).format(atMs))
  if (match?.[1] === undefined) return 0
  const [, sign, hours, minutes, seconds = 0] = match
  return (sign === '-' ? -1 : 1) * (Number(hours) * HOUR_MS + Number(minutes) * MINUTE_MS + Number(seconds) * 1_000)
}

/** A day on the wall: at most one change of the offset touches it. */
export interface WallDay {
  readonly beforeMs: number
  readonly afterMs: number
  /** The first instant of the new offset; null when nothing changes. */
  readonly changesAtMs: number | null
}

/** No wall is further from UTC: 14 hours ahead, 12 behind. */
const AHEAD_MAX_MS = 15 * HOUR_MS
const BEHIND_MAX_MS = 13 * HOUR_MS

/** The same days are asked for at every tick; asking the formats costs a hundred times more. */
const wallDays = new Map<string, WallDay>()
const WALL_DAYS_MAX = 1_000

export function wallDay(timeZone: string, day: number): WallDay {
  const key = `${timeZone} ${day}`
  const known = wallDays.get(key)
  if (known !== undefined) return known
  if (wallDays.size >= WALL_DAYS_MAX) wallDays.clear()
  const found = findWallDay(timeZone, day)
  wallDays.set(key, found)
  return found
}

function findWallDay(timeZone: string, day: number): WallDay {
  let low = day * DAY_MS - AHEAD_MAX_MS
  let high = (day + 1) * DAY_MS + BEHIND_MAX_MS
  const beforeMs = offsetMs(timeZone, low)
  const afterMs = offsetMs(timeZone, high)
  if (beforeMs === afterMs) return { beforeMs, afterMs, changesAtMs: null }
  while (high - low > MINUTE_MS) {
    const middle = low + Math.floor((high - low) / 2 / MINUTE_MS) * MINUTE_MS
    if (offsetMs(timeZone, middle) === beforeMs) low = middle
    else high = middle
  }
  return { beforeMs, afterMs, changesAtMs: high }
}

/** When the wall shows this time: once, twice when the clock is set back over it, never when it is set forward over it. */
export function instantsOf({ beforeMs, afterMs, changesAtMs }: WallDay, wallMs: number): readonly number[] {
  if (changesAtMs === null) return [wallMs - beforeMs]
  const instants = []
  if (wallMs - beforeMs < changesAtMs) instants.push(wallMs - beforeMs)
  if (wallMs - afterMs >= changesAtMs) instants.push(wallMs - afterMs)
  return instants
}

function formatOf(timeZone: string): Intl.DateTimeFormat {
  const known = formats.get(timeZone)
  if (known !== undefined) return known
  const format = new Intl.DateTimeFormat('en-US', { timeZone, timeZoneName: 'longOffset' })
  if (formats.size >= FORMATS_MAX) formats.clear()
  formats.set(timeZone, format)
  return format
}
