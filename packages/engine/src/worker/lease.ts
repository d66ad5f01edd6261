import type { Clock } from '../lifecycle/clock.ts'
import type { Sent } from './heartbeat.ts'

/**
 * What this process knows of its own lease. It is counted from when the last answered heartbeat was *sent*, and on two
 * clocks: either may stand still while a machine is suspended. While it holds a lifeline its word is worth less: others
 * may have seen the lifeline break, so the session that holds it must have answered lately.
 */
export interface Lease {
  renewed(sent: Sent): void
  /** The session that holds the lifeline has answered. */
  lifelineAnswered(sent: Sent): void
  /** That session is gone: good again with the next heartbeat that the database accepts. */
  lifelineBroke(): void
  isGood(): boolean
  /** Resolves when the lease is known good; rejects with the signal's reason. */
  ensureGood(signal: AbortSignal): Promise<void>
}

const NEVER: Sent = { monotonicMs: Number.NEGATIVE_INFINITY, wallMs: Number.NEGATIVE_INFINITY }

export function createLease(options: {
  readonly clock: Clock
  readonly leaseMs: number
  /** How long PostgreSQL bears the silence of the session that holds the lifeline. */
  readonly lifelineMs: number
  /** Asks for a heartbeat and a ping now. */
  readonly renew: () => void
}): Lease {
  const { clock, renew } = options
  // A call that starts at the very end of a term would still be on its way when another worker begins.
  const leaseTermMs = options.leaseMs - options.leaseMs / 8
  const lifelineTermMs = options.lifelineMs - options.lifelineMs / 8
  let sent = NEVER
  let answered: Sent | null = null
  let waiting: (() => void)[] = []

  const isWithin = (at: Sent, termMs: number): boolean =>
    clock.monotonicMs() - at.monotonicMs < termMs && clock.wallMs() - at.wallMs < termMs
  const isGood = (): boolean => isWithin(sent, leaseTermMs) && (answered === null || isWithin(answered, lifelineTermMs))

  function wakeIfGood(): void {
    if (!isGood()) return
    const woken = waiting
    waiting = []
    for (const wake of woken) wake()
  }

  return {
    isGood,
    renewed(at) {
      sent = at
      wakeIfGood()
    },
    lifelineAnswered(at) {
      answered = at
      wakeIfGood()
    },
    lifelineBroke() {
      if (answered === null) return
      answered = null
      sent = NEVER
    },
    async ensureGood(signal) {
      while (!isGood()) {
        signal.throwIfAborted()
        renew()
        await new Promise<void>((resolve, reject) => {
          const aborted = (): void => reject(signal.reason as Error)
          signal.addEventListener('abort', aborted, { once: true })
          waiting.push(() => {
            signal.removeEventListener('abort', aborted)
            resolve()
          })
        })
      }
      signal.throwIfAborted()
    },
  }
}
