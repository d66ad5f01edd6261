/**
 * How a process of ours ends: on SIGTERM or SIGINT, and when the one that started it is gone. Children live in groups of
 * their own, so a supervisor that was killed cannot take them along; its closed channel tells them instead.
 */
export interface EndRequest {
  /** Resolves at the first request to end. */
  readonly requested: Promise<void>
  /** Aborts with it: for what may still be waiting for a database when the request comes. */
  readonly signal: AbortSignal
  /** Null when the request to end came first: nothing has been taken on yet, and what was begun ends with the process. */
  unless<T>(work: Promise<T>): Promise<T | null>
  /** Resolves when the supervisor asks to hurry. */
  readonly hurried: Promise<void>
}

export interface ChildMessage {
  readonly type: 'ready'
  readonly [field: string]: unknown
}

export function endRequest(): EndRequest {
  surviveClosedPipes()
  let hurry: () => void = () => undefined
  const hurried = new Promise<void>((resolve) => {
    hurry = resolve
  })
  const requested = new Promise<void>((resolve) => {
    process.on('SIGTERM', () => resolve())
    process.on('SIGINT', () => resolve())
    process.on('disconnect', () => resolve())
    process.on('message', (message) => {
      if (message === 'hurry') hurry()
    })
  })
  const ending = new AbortController()
  void requested.then(() => ending.abort())
  return {
    requested,
    signal: ending.signal,
    async unless(work) {
      // Cut short, it may still fail: nobody is left to hear of it.
      work.catch(() => undefined)
      return Promise.race([work, requested.then(() => null)])
    },
    hurried,
  }
}

export function tellReady(fields: Readonly<Record<string, unknown>> = {}): void {
  process.send?.({ type: 'ready', ...fields } satisfies ChildMessage)
}

/** The reader of our output may be gone before us. */
function surviveClosedPipes(): void {
  process.stdout.on('error', () => {})
  process.stderr.on('error', () => {})
}
