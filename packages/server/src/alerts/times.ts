/** As on-call compares it with logs: UTC, to the second. */
export function moment(at: Date): string {
  return `${day(at)} ${clock(at)} UTC`
}

/** The second end of a span: its day only where it is another one. */
export function until(from: Date, to: Date): string {
  return day(from) === day(to) ? clock(to) : `${day(to)} ${clock(to)}`
}

function day(at: Date): string {
  return at.toISOString().slice(0, 10)
}

function clock(at: Date): string {
  return at.toISOString().slice(11, 19)
}
