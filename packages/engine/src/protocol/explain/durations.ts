const SECOND_MS = 1_000
const MINUTE_MS = 60 * SECOND_MS
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS

/** `340 ms`, `12 s`, `5 min`, `3 h 20 min`, `2 d 4 h`: as exact as a person needs it. */
export function duration(ms: number): string {
  const size = Math.abs(ms)
  const text = lengthOf(size)
  return ms < 0 ? `-${text}` : text
}

function lengthOf(ms: number): string {
  if (ms < SECOND_MS) return `${Math.round(ms)} ms`
  if (ms < MINUTE_MS) return `${Math.floor(ms / SECOND_MS)} s`
  if (ms < HOUR_MS) return `${Math.floor(ms / MINUTE_MS)} min`
  if (ms < DAY_MS) return both(Math.floor(ms / HOUR_MS), 'h', Math.floor((ms % HOUR_MS) / MINUTE_MS), 'min')
  return both(Math.floor(ms / DAY_MS), 'd', Math.floor((ms % DAY_MS) / HOUR_MS), 'h')
}

function both(large: number, largeUnit: string, small: number, smallUnit: string): string {
  return small === 0 ? `${large} ${largeUnit}` : `${large} ${largeUnit} ${small} ${smallUnit}`
}

/** `3 min ago`, `in 12 s`. */
export function fromNow(at: Date, now: Date): string {
  const ms = at.getTime() - now.getTime()
  return ms > 0 ? `in ${duration(ms)}` : `${duration(-ms)} ago`
}
