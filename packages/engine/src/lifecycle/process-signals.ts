export type StopSignal = 'SIGTERM' | 'SIGINT'
/** `count` is 1 for the first stop signal since this handler was installed, whichever of the two it was. */
export type StopHandler = (signal: StopSignal, count: number) => void

interface Installed {
  readonly handler: StopHandler
  count: number
}

const STOP_SIGNALS = ['SIGTERM', 'SIGINT'] as const
// One listener for all of them: several workers in one process must not run into Node's warning at eleven listeners.
const installed = new Set<Installed>()

/** Calls the handler on SIGTERM and SIGINT, until the returned function is called. The last one out restores Node's own. */
export function onStopSignal(handler: StopHandler): () => void {
  const entry: Installed = { handler, count: 0 }
  if (installed.size === 0) for (const signal of STOP_SIGNALS) process.on(signal, tellAll)
  installed.add(entry)
  return () => {
    if (!installed.delete(entry) || installed.size > 0) return
    for (const signal of STOP_SIGNALS) process.off(signal, tellAll)
  }
}

function tellAll(signal: NodeJS.Signals): void {
  const errors: unknown[] = []
  // A copy: who installs a handler on this signal waits for the next. One removed meanwhile is not told.
  const present = [...installed]
  for (const entry of present) {
    if (!installed.has(entry)) continue
    entry.count += 1
    try {
      entry.handler(signal as StopSignal, entry.count)
    } catch (error) {
      errors.push(error)
    }
  }
  // Everybody has been told; a handler's defect is still uncaught, as it would be alone.
  if (errors.length > 0) throw errors[0]
}
