/** Every way to end the demo before its end: a key, the terminal's signals, a platform's. */
export interface StopSignals {
  readonly stop: AbortSignal
  readonly stopped: Promise<void>
  /** 0 after a key, 128 and the signal's number after a signal. */
  readonly exitCode: number
  quit(): void
  uninstall(): void
}

const NUMBERS = { SIGHUP: 1, SIGINT: 2, SIGTERM: 15 } as const
/** A terminal and npm tell of one Ctrl-C twice within milliseconds; whoever presses again later means now. */
const SAME_PRESS_MS = 500

export function stopSignals(): StopSignals {
  const controller = new AbortController()
  const { signal } = controller
  let firstAtMs: number | null = null
  let exitCode = 0
  const onSignal = (name: NodeJS.Signals): void => {
    const nowMs = Date.now()
    firstAtMs ??= nowMs
    exitCode = 128 + NUMBERS[name as keyof typeof NUMBERS]
    controller.abort()
    if (nowMs - firstAtMs > SAME_PRESS_MS) process.exit(exitCode)
  }
  const names = Object.keys(NUMBERS) as (keyof typeof NUMBERS)[]
  for (const name of names) process.on(name, onSignal)
  const stopped = new Promise<void>((resolve) => {
    signal.addEventListener('abort', () => resolve(), { once: true })
  })
  return {
    stop: signal,
    stopped,
    get exitCode() {
      return exitCode
    },
    quit: () => controller.abort(),
    uninstall: () => {
      for (const name of names) process.off(name, onSignal)
    },
  }
}
