export interface StopSignals {
  readonly requested: Promise<void>
  isRequested(): boolean
  /** Called when the person presses Ctrl-C again. */
  onHurry(hurry: () => void): void
  uninstall(): void
}

/**
 * npm passes Ctrl-C on to a process that the terminal has told already, so one key press arrives twice within
 * milliseconds. A person who presses again does so later.
 */
const SAME_PRESS_MS = 400

export function stopSignals(): StopSignals {
  const hurries: (() => void)[] = []
  let firstMs: number | null = null
  let isHurried = false
  let request: () => void = () => undefined
  const requested = new Promise<void>((resolve) => {
    request = resolve
  })
  const onSignal = (): void => {
    const nowMs = performance.now()
    firstMs ??= nowMs
    request()
    if (nowMs - firstMs < SAME_PRESS_MS) return
    isHurried = true
    for (const hurry of hurries) hurry()
  }
  const names = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
  for (const name of names) process.on(name, onSignal)
  return {
    requested,
    isRequested: () => firstMs !== null,
    onHurry: (hurry) => {
      hurries.push(hurry)
      if (isHurried) hurry()
    },
    uninstall: () => {
      for (const name of names) process.off(name, onSignal)
    },
  }
}
