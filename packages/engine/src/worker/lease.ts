import type { Clock } from '../lifecycle/clock.ts'

/**
 * What this process knows of its own lease. It is counted from when the last answered heartbeat was *sent*, and on two
 * clocks: either may stand still while a machine is suspended.
 */
export interface Lease {
  renewed(sent: { readonly monotonicMs: number; readonly wallMs: number }): void
  isGood(): boolean
  /** Resolves when the lease is known good; rejects with the signal's reason. */
  ensureGood(signal: AbortSignal): Promise<void>
}

export function createLease(options: {
  readonly clock: Clock
  readonly leaseMs: number
  /** Asks for a heartbeat now. */
  readonly renew: () => void
}): Lease {
  const { clock, leaseMs, renew } = options
  // A call that starts at the very end of the lease would still be on its way when another worker begins.
  const termMs = leaseMs - leaseMs / 8
  let sent = { monotonicMs: Number.NEGATIVE_INFINITY, wallMs: Number.NEGATIVE_INFINITY }
  let waiting: (() => void)[] = []

  const isGood = (): boolean => clock.monotonicMs() - sent.monotonicMs < termMs && clock.wallMs() - sent.wallMs < termMs

  return {
    isGood,
    renewed(at) {
      sent = at
      if (!isGood()) return
      const woken = waiting
      waiting = []
      for (const wake of woken) wake()
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
