import { FootholdError } from './errors.ts'
import { DAY_MS, instantsOf, MINUTE_MS, offsetMs, wallDay } from './time-zone.ts'

/**
 * Five fields (minute, hour, day of the month, month, day of the week) on the wall of a time zone. Where the wall's clock
 * is changed:
 * 1. A schedule of every hour (`* * * * *`, `15 * * * *`) follows the instants: it neither stops nor bursts.
 * 2. Of any other, each time on the wall comes once a day: the first time where the clock is set back over it, and at the
 *    first instant after the gap where it is set forward over it.
 */
export interface Cron {
  readonly minutes: readonly number[]
  readonly hours: readonly number[]
  readonly days: ReadonlySet<number>
  readonly months: ReadonlySet<number>
  /** 0 is Sunday. */
  readonly weekdays: ReadonlySet<number>
  /** Both kinds of day are named: either will do, as cron has always had it. */
  readonly isEitherDay: boolean
}

interface Field {
  readonly name: string
  readonly min: number
  readonly max: number
  readonly names?: readonly string[]
}

const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec']
const WEEKDAYS = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat']
const FIELDS: readonly Field[] = [
  { name: 'minute', min: 0, max: 59 },
  { name: 'hour', min: 0, max: 23 },
  { name: 'day of the month', min: 1, max: 31 },
  { name: 'month', min: 1, max: 12, names: MONTHS },
  { name: 'day of the week', min: 0, max: 7, names: WEEKDAYS },
]
const CHARACTERS_MAX = 300
const LAST_DAYS = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]

/** @throws INVALID_ARGUMENT that names the field, its limit and what to write instead. */
export function parseCron(field: string, text: unknown): Cron {
  const refuse = (problem: string, cure: string): never => {
    throw new FootholdError('INVALID_ARGUMENT', { field, problem, cure })
  }
  const shape = 'Give minute, hour, day of the month, month and day of the week, such as "30 2 * * 1-5".'
  if (typeof text !== 'string') return refuse(`a value of type ${typeof text} is not a string`, shape)
  if (text.length > CHARACTERS_MAX)
    return refuse(`it has ${text.length} characters, the limit is ${CHARACTERS_MAX}`, shape)
  const parts = text.trim().split(/\s+/)
  if (parts.length !== FIELDS.length || text.trim() === '') {
    return refuse(`${JSON.stringify(text)} has ${text.trim() === '' ? 0 : parts.length} fields, not 5`, shape)
  }
  const [minutes, hours, days, months, weekdays] = FIELDS.map((one, n) =>
    numbersOf(one, parts[n] as string, refuse),
  ) as [number[], number[], number[], number[], number[]]
  const isEitherDay = !(parts[2] as string).startsWith('*') && !(parts[4] as string).startsWith('*')
  if (!isEitherDay && !months.some((month) => (days[0] as number) <= (LAST_DAYS[month - 1] as number))) {
    return refuse(
      `${JSON.stringify(text)} never comes: no month of ${months.join(', ')} has a day ${days[0]}`,
      'Days go to 29 in February, to 30 in April, June, September and November, to 31 in the others.',
    )
  }
  return {
    minutes,
    hours,
    days: new Set(days),
    months: new Set(months),
    weekdays: new Set(weekdays.map((day) => day % 7)),
    isEitherDay,
  }
}

/** In ascending order, each once. */
function numbersOf(field: Field, text: string, refuse: (problem: string, cure: string) => never): number[] {
  const { name, min, max, names } = field
  const cure = `The ${name} takes ${min} to ${max}${names === undefined ? '' : ` or ${names[0]} to ${names.at(-1)}`}, "*", ranges as 1-5, steps as */2, and lists of them.`
  const numberOf = (word: string): number => {
    const named = names?.indexOf(word.toLowerCase()) ?? -1
    const number = named >= 0 ? named + min : /^\d{1,2}$/.test(word) ? Number(word) : Number.NaN
    return number >= min && number <= max ? number : refuse(`${JSON.stringify(word)} is no ${name}`, cure)
  }
  // 7 is Sunday's other number, not a day of its own: a week that is left open ends at Saturday.
  const end = names === WEEKDAYS ? 6 : max
  const found = new Set<number>()
  for (const piece of text.split(',')) {
    const match = /^(?:(\*)|(\w+)(?:-(\w+))?)(?:\/(\d{1,3}))?$/.exec(piece)
    if (match === null) return refuse(`${JSON.stringify(piece)} is no ${name}`, cure)
    const [, star, first, last, step] = match
    const from = star === undefined ? numberOf(first as string) : min
    let to = last === undefined ? (star === undefined && step === undefined ? from : end) : numberOf(last)
    // Sunday also ends a week: fri-sun.
    if (names === WEEKDAYS && last !== undefined && to === 0 && from > 0) to = 7
    if (to < from)
      return refuse(
        `${JSON.stringify(piece)} of the ${name} runs backwards`,
        `Write it in two: ${first}-${max},${min}-${last}.`,
      )
    const by = Number(step ?? 1)
    if (by < 1 || by > max - min) return refuse(`the step ${by} of the ${name} is not between 1 and ${max - min}`, cure)
    for (let number = from; number <= to; number += by) found.add(number)
  }
  return [...found].sort((a, b) => a - b)
}

/** A leap day on a given weekday comes every 28 years, over a century without one every 40. */
const DAYS_MAX = 41 * 366

/** The first tick after this instant. */
export function nextTick(cron: Cron, timeZone: string, afterMs: number): number {
  return findTick(cron, timeZone, afterMs, 1, (tick, best) => tick > afterMs && !(tick >= best))
}

/** The last tick up to this instant. */
export function lastTick(cron: Cron, timeZone: string, upToMs: number): number {
  return findTick(cron, timeZone, upToMs, -1, (tick, best) => tick <= upToMs && !(tick <= best))
}

/** `isBetter` compares with the best so far, which is NaN at first. */
function findTick(
  cron: Cron,
  timeZone: string,
  fromMs: number,
  step: 1 | -1,
  isBetter: (tick: number, best: number) => boolean,
): number {
  // From a day before, and to a day after the first find: what the clock was set over at midnight belongs to the wall's
  // other day.
  const first = Math.floor((fromMs + offsetMs(timeZone, fromMs)) / DAY_MS) - step
  let best = Number.NaN
  const look = (tick: number): void => {
    if (isBetter(tick, best)) best = tick
  }
  for (let day = first; Math.abs(day - first) <= DAYS_MAX; day += step) {
    const isLast = !Number.isNaN(best)
    if (isDay(cron, day)) forEachTick(cron, timeZone, day, look)
    if (isLast) return best
  }
  throw new FootholdError('INVALID_ARGUMENT', { field: 'cron', problem: 'it never comes' })
}

function isDay({ days, months, weekdays, isEitherDay }: Cron, day: number): boolean {
  const date = new Date(day * DAY_MS)
  if (!months.has(date.getUTCMonth() + 1)) return false
  const isMonthDay = days.has(date.getUTCDate())
  const isWeekday = weekdays.has(date.getUTCDay())
  return isEitherDay ? isMonthDay || isWeekday : isMonthDay && isWeekday
}

/** Of one day on the wall. */
function forEachTick({ minutes, hours }: Cron, timeZone: string, day: number, tell: (tick: number) => void): void {
  const wall = wallDay(timeZone, day)
  const isEveryHour = hours.length === 24
  for (const hour of hours) {
    for (const minute of minutes) {
      const wallMs = day * DAY_MS + (hour * 60 + minute) * MINUTE_MS
      if (wall.changesAtMs === null) {
        tell(wallMs - wall.beforeMs)
        continue
      }
      const instants = instantsOf(wall, wallMs)
      if (isEveryHour) instants.forEach(tell)
      else tell(instants[0] ?? wall.changesAtMs)
    }
  }
}
