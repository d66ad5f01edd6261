/** One signal that follows several. AbortSignal.any would keep entries on long-lived signals until they are collected. */
export interface LinkedSignal {
  readonly signal: AbortSignal
  abort(reason: unknown): void
  /** Lets go of the followed signals; call it when the work is over. */
  unlink(): void
}

export function linkSignals(...followed: readonly AbortSignal[]): LinkedSignal {
  const controller = new AbortController()
  const unlinks: (() => void)[] = []
  for (const signal of followed) {
    if (signal.aborted) {
      controller.abort(signal.reason)
      break
    }
    const follow = (): void => controller.abort(signal.reason)
    signal.addEventListener('abort', follow, { once: true })
    unlinks.push(() => signal.removeEventListener('abort', follow))
  }
  return {
    signal: controller.signal,
    abort: (reason) => controller.abort(reason),
    unlink: () => {
      for (const unlink of unlinks.splice(0)) unlink()
    },
  }
}

/** Settles as the promise does, or rejects with the signal's reason, whichever is first. */
export function untilAborted<Value>(promise: Promise<Value>, signal: AbortSignal): Promise<Value> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => reject(signal.reason as Error)
    if (signal.aborted) onAbort()
    else signal.addEventListener('abort', onAbort, { once: true })
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort))
  })
}
