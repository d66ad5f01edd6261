import { setTimeout as pause } from 'node:timers/promises'
import type { Round } from './round.ts'
import type { Moment } from './script.ts'

/** Looking for a victim may come up empty while both workers are on their way back. */
const TRIES = 3

/** Does to the workers what the script says, when it says so, one thing after the other. */
export async function playMoments(
  round: Round,
  moments: readonly Moment[],
  { writer, stop }: { readonly writer: () => number | null; readonly stop: AbortSignal },
): Promise<void> {
  for (const { atMs, act } of moments) {
    await pause(Math.max(0, atMs - round.elapsedMs), undefined, { signal: stop })
    for (let left = TRIES; left > 0 && !stop.aborted; left -= 1) {
      if (await round.act(act, writer())) break
    }
  }
}
