import type { Down } from '../world/crew.ts'
import type { Attempt } from '../world/queue.ts'

/** From the moment a worker fell silent to the start of the next attempt, for each task it had in hand. */
export function recoveriesMs(downs: readonly Down[], attempts: readonly Attempt[]): number[] {
  return downs.flatMap(({ pid, atMs }) =>
    attempts
      .filter((held) => held.pid === pid && held.how === 'orphaned')
      .flatMap(({ task, attempt }) => {
        const next = attempts.find((other) => other.task === task && other.attempt === attempt + 1)
        return next === undefined || next.startedAtMs < atMs ? [] : [next.startedAtMs - atMs]
      }),
  )
}

/** The smallest value that so large a part does not exceed; null for no values. */
export function percentile(values: readonly number[], part: number): number | null {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.max(0, Math.ceil(part * sorted.length) - 1)] ?? null
}
