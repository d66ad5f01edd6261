import type { Limit } from '../limits.ts'
import { duration } from './durations.ts'

/** `key gigachat: at most 5 at once; 5 run, 12 wait for room` */
export function limitText({ kind, value, concurrency, rate, running, waiting, by }: Limit): string {
  const bounds = [
    concurrency === null ? null : `${concurrency} at once`,
    rate === null ? null : `${rate.count} starts in ${duration(rate.periodMs)}`,
  ].filter((bound) => bound !== null)
  const of = value === '*' ? `each ${kind} without a limit of its own` : `${kind} ${value}`
  const used =
    running === null || waiting === null
      ? ''
      : `; ${running} ${running === 1 ? 'runs' : 'run'}, ${waiting} ${waiting === 1 ? 'waits' : 'wait'} for room`
  return `${of}: at most ${bounds.join(' and ')}${used}${by === null ? '' : ` (${by})`}`
}
