export type StopName = 'SIGINT' | 'SIGTERM'

export const FAILED = 1
export const WRONG_USAGE = 2

/** 128 and the signal's number, as shells count. */
const STOPPED: Readonly<Record<StopName, number>> = { SIGINT: 130, SIGTERM: 143 }

/** Of a command that a stop signal cut off; the signal's name is the abort's reason. */
export function exitCodeOf(stop: AbortSignal): number {
  return STOPPED[stop.reason as StopName] ?? FAILED
}

/** Rejects when the stop comes first; what was begun is left to the end of the process. */
export async function unlessStopped<T>(work: Promise<T>, stop: AbortSignal): Promise<T> {
  let stopped: () => void = () => {}
  const stopping = new Promise<never>((_, reject) => {
    stopped = () => reject(new Error(`stopped by ${String(stop.reason)}`))
    if (stop.aborted) stopped()
    else stop.addEventListener('abort', stopped, { once: true })
  })
  try {
    return await Promise.race([work, stopping])
  } finally {
    stop.removeEventListener('abort', stopped)
  }
}
