/**
 * How a process of ours ends: on SIGTERM or SIGINT, and when the one that started it is gone. Children live in groups of
 * their own, so a supervisor that was killed cannot take them along; its closed channel tells them instead.
 */
export interface EndRequest {
  /** Resolves at the first request to end. */
  readonly requested: Promise<void>
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
  return { requested, hurried }
}

export function tellReady(fields: Readonly<Record<string, unknown>> = {}): void {
  process.send?.({ type: 'ready', ...fields } satisfies ChildMessage)
}

/** The reader of our output may be gone before us. */
function surviveClosedPipes(): void {
  process.stdout.on('error', () => {})
  process.stderr.on('error', () => {})
}
