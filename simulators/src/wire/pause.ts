import { setTimeout as pause } from 'node:timers/promises'

/** Ends early when the client has gone; the next write finds that out. */
export async function pauseUnlessGone(ms: number, clientGone: AbortSignal): Promise<void> {
  if (clientGone.aborted) return
  await pause(ms, undefined, { signal: clientGone }).catch(() => {})
}
