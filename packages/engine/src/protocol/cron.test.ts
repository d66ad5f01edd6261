import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { lastTick, nextTick, parseCron } from './cron.ts'
import { checkTimeZone, DAY_MS, MINUTE_MS } from './time-zone.ts'

const seed = Number(process.env['FOOTHOLD_SEED'] ?? Math.floor(Math.random() * 2 ** 31))

function ticks(text: string, timeZone: string, from: string, to: string): string[] {
  const cron = parseCron('cron', text)
  const found: string[] = []
  for (
    let at = nextTick(cron, timeZone, Date.parse(from) - 1);
    at < Date.parse(to);
    at = nextTick(cron, timeZone, at)
  ) {
    found.push(new Date(at).toISOString().replace(':00.000Z', 'Z'))
  }
  return found
}

describe('a daily schedule comes once on each day, whatever the clock on the wall does', () => {
  test.for([
    // Forward at 2026-03-29T01:00Z: 02:30 does not exist, the first instant after the gap is 03:00 summer time.
    ['30 2 * * *', 'Europe/Berlin', '2026-03-28', ['2026-03-28T01:30Z', '2026-03-29T01:00Z', '2026-03-30T00:30Z']],
    // Back at 2026-10-25T01:00Z: 02:30 comes twice, the first is still summer time.
    ['30 2 * * *', 'Europe/Berlin', '2026-10-24', ['2026-10-24T00:30Z', '2026-10-25T00:30Z', '2026-10-26T01:30Z']],
    ['30 2 * * *', 'America/New_York', '2026-03-07', ['2026-03-07T07:30Z', '2026-03-08T07:00Z', '2026-03-09T06:30Z']],
    ['30 1 * * *', 'America/New_York', '2026-10-31', ['2026-10-31T05:30Z', '2026-11-01T05:30Z', '2026-11-02T06:30Z']],
    // Half an hour forward at 02:00 on 4 October, half an hour back at 02:00 on 5 April.
    [
      '15 2 * * *',
      'Australia/Lord_Howe',
      '2026-10-02',
      ['2026-10-02T15:45Z', '2026-10-03T15:30Z', '2026-10-04T15:15Z'],
    ],
    [
      '45 1 * * *',
      'Australia/Lord_Howe',
      '2026-04-03',
      ['2026-04-03T14:45Z', '2026-04-04T14:45Z', '2026-04-05T15:15Z'],
    ],
    ['30 2 * * *', 'Europe/Moscow', '2026-03-28', ['2026-03-28T23:30Z', '2026-03-29T23:30Z', '2026-03-30T23:30Z']],
    ['30 2 * * *', 'Asia/Kolkata', '2026-10-24', ['2026-10-24T21:00Z', '2026-10-25T21:00Z', '2026-10-26T21:00Z']],
    // Chile changes its clocks at midnight: the day before its spring day ends at 24:00, and 00:30 does not exist.
    ['30 0 * * *', 'America/Santiago', '2026-09-05', ['2026-09-05T04:30Z', '2026-09-06T04:00Z', '2026-09-07T03:30Z']],
  ] as const)('%s in %s from %s', ([text, timeZone, day, expected]) => {
    const end = new Date(Date.parse(day) + 3 * DAY_MS).toISOString()

    expect(ticks(text, timeZone, day, end)).toEqual(expected)
  })
})

test('times that the clock is set forward over come to one tick, not to a burst', () => {
  expect(ticks('*/10 2 * * *', 'Europe/Berlin', '2026-03-29T00:00Z', '2026-03-29T12:00Z')).toEqual([
    '2026-03-29T01:00Z',
  ])
})

test.for([
  ['* * * * *', 'Europe/Berlin', 1, ['2026-03-29', '2026-10-25']],
  ['*/15 * * * *', 'Europe/Berlin', 15, ['2026-03-29', '2026-10-25']],
  ['20 * * * *', 'America/New_York', 60, ['2026-03-08', '2026-11-01']],
  ['*/5 * * * *', 'Australia/Lord_Howe', 5, ['2026-04-04', '2026-10-03']],
] as const)(
  'a schedule of every hour, %s in %s, neither stops nor bursts when clocks change',
  ([text, timeZone, minutes, days]) => {
    for (const day of days) {
      const end = new Date(Date.parse(day) + 2 * DAY_MS).toISOString()
      const at = ticks(text, timeZone, day, end).map((tick) => Date.parse(tick))

      expect(at).toHaveLength((2 * DAY_MS) / (minutes * MINUTE_MS))
      expect(new Set(at.slice(1).map((tick, n) => tick - (at[n] as number)))).toEqual(new Set([minutes * MINUTE_MS]))
    }
  },
)

test('29 February comes every four years, and not in 2100', () => {
  expect(ticks('0 9 29 2 *', 'UTC', '2027-01-01', '2037-01-01')).toEqual([
    '2028-02-29T09:00Z',
    '2032-02-29T09:00Z',
    '2036-02-29T09:00Z',
  ])
  expect(ticks('0 9 29 2 *', 'UTC', '2096-03-01', '2105-01-01')).toEqual(['2104-02-29T09:00Z'])
})

test('a 31st comes in the months that have one', () => {
  expect(ticks('0 0 31 * *', 'UTC', '2026-01-01', '2027-01-01').map((tick) => tick.slice(5, 7))).toEqual([
    '01',
    '03',
    '05',
    '07',
    '08',
    '10',
    '12',
  ])
})

test('where both kinds of day are named, either will do; a star leaves the choice to the other', () => {
  // Sundays of June 2026: 7, 14, 21, 28.
  expect(ticks('0 0 1,15 6 sun', 'UTC', '2026-06-01', '2026-07-01').map((tick) => tick.slice(8, 10))).toEqual([
    '01',
    '07',
    '14',
    '15',
    '21',
    '28',
  ])
  expect(ticks('0 0 * 6 7', 'UTC', '2026-06-01', '2026-07-01').map((tick) => tick.slice(8, 10))).toEqual([
    '07',
    '14',
    '21',
    '28',
  ])
})

test('names, ranges, steps and lists mean what numbers mean', () => {
  expect(parseCron('cron', '*/20 9-17/4,23 1 JAN,jul-sep Fri-Sun')).toMatchObject({
    minutes: [0, 20, 40],
    hours: [9, 13, 17, 23],
    months: new Set([1, 7, 8, 9]),
    weekdays: new Set([5, 6, 0]),
  })
  expect(parseCron('cron', '5/20 * * * *').minutes).toEqual([5, 25, 45])
  expect(parseCron('cron', '0 0 * * */2').weekdays).toEqual(new Set([0, 2, 4, 6]))
})

test.for([
  ['0 0 30 2 *', '"0 0 30 2 *" never comes: no month of 2 has a day 30', 'Days go to 29 in February'],
  ['0 0 31 4,6,9,11 *', 'never comes: no month of 4, 6, 9, 11 has a day 31', 'to 30 in April'],
  ['60 * * * *', '"60" is no minute', 'The minute takes 0 to 59'],
  ['* 24 * * *', '"24" is no hour', 'The hour takes 0 to 23'],
  ['* * 0 * *', '"0" is no day of the month', '1 to 31'],
  ['* * * 13 *', '"13" is no month', '1 to 12 or jan to dec'],
  ['* * * * 8', '"8" is no day of the week', '0 to 7 or sun to sat'],
  ['0 22-2 * * *', '"22-2" of the hour runs backwards', 'Write it in two: 22-23,0-2.'],
  ['*/90 * * * *', 'the step 90 of the minute is not between 1 and 59', '*/2'],
  ['*/0 * * * *', 'the step 0 of the minute', '*/2'],
  ['0 0 L * *', '"L" is no day of the month', 'ranges as 1-5'],
  ['0 0 ? * *', '"?" is no day of the month', 'lists'],
  ['0,,5 * * * *', '"" is no minute', 'lists'],
  ['@daily', '"@daily" has 1 fields, not 5', '"30 2 * * 1-5"'],
  ['0 0 1 1 * 2030', 'has 6 fields, not 5', 'day of the week'],
  ['', '"" has 0 fields, not 5', 'minute'],
  [7, 'a value of type number is not a string', 'minute'],
  [`${'0,'.repeat(200)}0 * * * *`, 'the limit is 300', 'minute'],
] as const)('%s is refused at once, with the field, its limit and a cure', ([text, problem, cure]) => {
  expect(() => parseCron('options.cron', text)).toThrow(
    expect.objectContaining({
      code: 'INVALID_ARGUMENT',
      details: {
        field: 'options.cron',
        problem: expect.stringContaining(problem),
        cure: expect.stringContaining(cure),
      },
    }),
  )
})

test.for(['Moscow', '', '+03:00', 'Europe/Nowhere', 7, null])('%s is no time zone', (zone) => {
  expect(() => checkTimeZone('options.timeZone', zone)).toThrow(/options\.timeZone: .* is not a time zone\. Use a name/)
})

/** Another way to the same answer: every minute of the wall, read off field by field, around each change of the clock. */
interface WallMinute {
  readonly atMs: number
  readonly wallMs: number
}

const CHANGES = [
  ['Europe/Berlin', '2027-03-28T01:00Z'],
  ['Europe/Berlin', '2027-10-31T01:00Z'],
  ['America/New_York', '2027-03-14T07:00Z'],
  ['America/New_York', '2027-11-07T06:00Z'],
  ['Australia/Lord_Howe', '2027-04-03T15:00Z'],
  ['Australia/Lord_Howe', '2027-10-02T15:30Z'],
  ['America/Santiago', '2027-04-04T03:00Z'],
  ['America/Santiago', '2027-09-05T04:00Z'],
  ['Europe/Moscow', '2027-03-28T01:00Z'],
  ['Asia/Kolkata', '2027-10-31T01:00Z'],
] as const

function readWall(timeZone: string, aroundMs: number): readonly WallMinute[] {
  const format = new Intl.DateTimeFormat('en-GB', { timeZone, dateStyle: 'short', timeStyle: 'short' })
  return Array.from({ length: 5 * 24 * 60 }, (_, n) => {
    const atMs = aroundMs + (n - 2.5 * 24 * 60) * MINUTE_MS
    const [, day, month, year, hour, minute] = /(\d+)\/(\d+)\/(\d+), (\d+):(\d+)/.exec(format.format(atMs)) ?? []
    return { atMs, wallMs: Date.UTC(Number(year), Number(month) - 1, Number(day), Number(hour), Number(minute)) }
  })
}

/** From the text itself, field by field. */
function shows(text: string, wallMs: number): boolean {
  const date = new Date(wallMs)
  const values = [date.getUTCMinutes(), date.getUTCHours(), date.getUTCDate(), date.getUTCMonth() + 1, date.getUTCDay()]
  const fields = text.split(' ')
  const [minute, hour, day, month, weekday] = fields.map((field, n) =>
    field.split(',').some((piece) => {
      const [range = '', step = '1'] = piece.split('/')
      const [from = '', to] = range === '*' ? [n === 2 || n === 3 ? '1' : '0', '59'] : range.split('-')
      const last = to ?? (piece.includes('/') ? '59' : from)
      const value = values[n] as number
      return value >= Number(from) && value <= Number(last) && (value - Number(from)) % Number(step) === 0
    }),
  )
  const isDay = fields[2]?.startsWith('*') || fields[4]?.startsWith('*') ? day && weekday : day || weekday
  return Boolean(minute && hour && month && isDay)
}

function expectedTicks(text: string, wall: readonly WallMinute[]): number[] {
  const isEveryHour = parseCron('cron', text).hours.length === 24
  const shown = new Set<number>()
  const found = new Set<number>()
  wall.forEach(({ atMs, wallMs }, n) => {
    const before = wall[n - 1]?.wallMs ?? wallMs - MINUTE_MS
    if (!isEveryHour) {
      for (let skipped = before + MINUTE_MS; skipped < wallMs; skipped += MINUTE_MS) {
        if (shows(text, skipped)) found.add(atMs)
      }
    }
    if (shows(text, wallMs) && (isEveryHour || !shown.has(wallMs))) found.add(atMs)
    shown.add(wallMs)
  })
  return [...found].sort((a, b) => a - b)
}

const number = (min: number, max: number) => fc.integer({ min, max })
const piece = (min: number, max: number) =>
  fc.oneof(
    { weight: 4, arbitrary: fc.constant('*') },
    { weight: 4, arbitrary: number(min, max).map(String) },
    fc.tuple(number(min, max), number(min, max)).map(([a, b]) => `${Math.min(a, b)}-${Math.max(a, b)}`),
    fc.tuple(number(min, max), number(1, max - min)).map(([from, step]) => `${from}/${step}`),
    number(1, max - min).map((step) => `*/${step}`),
    fc.array(number(min, max), { minLength: 1, maxLength: 4 }).map((list) => list.join(',')),
  )
const crons = fc
  .tuple(piece(0, 59), fc.oneof(piece(0, 23), piece(0, 4)), piece(1, 28), piece(1, 12), piece(0, 6))
  .map((fields) => fields.join(' '))

test('around every change of a clock, ticks are those of a clerk who reads the wall minute by minute', () => {
  const walls = CHANGES.map(([timeZone, at]) => ({ timeZone, wall: readWall(timeZone, Date.parse(at)) }))
  fc.assert(
    fc.property(crons, fc.constantFrom(...walls), (text, { timeZone, wall }) => {
      const cron = parseCron('cron', text)
      const expected = expectedTicks(text, wall)
      const [first, last] = [(wall[0] as WallMinute).atMs, (wall.at(-1) as WallMinute).atMs]

      const forward: number[] = []
      for (let at = nextTick(cron, timeZone, first - 1); at <= last; at = nextTick(cron, timeZone, at)) forward.push(at)
      const back: number[] = []
      for (let at = lastTick(cron, timeZone, last); at >= first; at = lastTick(cron, timeZone, at - 1)) back.unshift(at)

      // What the first minutes of the window show may have been shown before it.
      const sure = (list: number[]): number[] => list.filter((at) => at > first + DAY_MS)
      expect(sure(forward)).toEqual(sure(expected))
      expect(sure(back)).toEqual(sure(expected))
    }),
    { seed, numRuns: 50 },
  )
})

test('the next tick lies ahead, the last one behind, and none between them, in any zone and at any time', () => {
  const zones = fc.constantFrom(
    ...CHANGES.map(([zone]) => zone),
    'UTC',
    'Africa/Casablanca',
    'Pacific/Apia',
    'Asia/Tehran',
  )
  const instants = fc.integer({ min: Date.UTC(2020), max: Date.UTC(2090) })
  fc.assert(
    fc.property(crons, zones, instants, (text, timeZone, at) => {
      const cron = parseCron('cron', text)
      const next = nextTick(cron, timeZone, at)
      const last = lastTick(cron, timeZone, at)

      expect(next).toBeGreaterThan(at)
      expect(last).toBeLessThanOrEqual(at)
      expect(nextTick(cron, timeZone, last)).toBe(next)
      expect(lastTick(cron, timeZone, next - 1)).toBe(last)
    }),
    { seed, numRuns: 300 },
  )
})
