/** A header that asks for more is a mistake or an attack: the task's own deadline is shorter anyway. */
const RETRY_AFTER_MAX_MS = 3_600_000

/** Retry-After in either of its forms; null when it is missing or makes no sense. */
export function retryAfterMs(headers: Pick<Headers, 'get'>, nowMs: number = Date.now()): number | null {
  const value = headers.get('retry-after')?.trim()
  if (value === undefined || value === '') return null
  if (/^\d+(?:\.\d+)?$/.test(value)) return clamp(Number(value) * 1000)
  // HTTP's dates begin with the day's name; Date.parse alone would make a date of "-5".
  const at = /^[A-Z][a-z]{2}/.test(value) ? Date.parse(value) : Number.NaN
  if (Number.isNaN(at)) return null
  // The server's own clock, where it tells it: ours may be minutes off.
  const serverNow = Date.parse(headers.get('date') ?? '')
  return clamp(at - (Number.isNaN(serverNow) ? nowMs : serverNow))
}

function clamp(ms: number): number {
  return Math.min(Math.max(Math.ceil(ms), 0), RETRY_AFTER_MAX_MS)
}
