export type StopName = 'SIGINT' | 'SIGTERM'

export const FAILED = 1
export const WRONG_USAGE = 2

/** 128 and the signal's number, as shells count. */
const STOPPED: Readonly<Record<StopName, number>> = { SIGINT: 130, SIGTERM: 143 }

/** Of a command that a stop signal cut off; the signal's name is the abort's reason. */
export function exitCodeOf(stop: AbortSignal): number {
  return STOPPED[stop.reason as StopName] ?? FAILED
}
