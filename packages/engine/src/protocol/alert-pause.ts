import type { Failure } from './failure.ts'

/** How long a channel is left alone after it did not show a message. */

const REFUSED = { firstMs: 1_000, maxMs: 60_000 }
/** What a person has to mend is not mended sooner by asking. */
const BROKEN = { firstMs: 30_000, maxMs: 600_000 }
/** The first message may have arrived: each further one may ring the same phone again. */
const DOUBTFUL = { firstMs: 15_000, maxMs: 600_000 }

export function alertPauseMs(
  failure: Pick<Failure, 'retryable' | 'isDefinite' | 'afterMs'>,
  { failures, isFirstMessage }: { readonly failures: number; readonly isFirstMessage: boolean },
): number {
  const { firstMs, maxMs } = pausesFor(failure, isFirstMessage)
  return Math.max(failure.afterMs, Math.min(maxMs, firstMs * 2 ** Math.min(failures, 20)))
}

function pausesFor(
  { retryable, isDefinite }: Pick<Failure, 'retryable' | 'isDefinite'>,
  isFirstMessage: boolean,
): { readonly firstMs: number; readonly maxMs: number } {
  if (!retryable) return BROKEN
  return isDefinite || !isFirstMessage ? REFUSED : DOUBTFUL
}
