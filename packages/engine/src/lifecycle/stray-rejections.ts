/**
 * Node ends the process for a rejected promise that nobody awaits. Rightly so for a defect of unknown reach; but some
 * rejections are known to be harmless, and one task's stray branch must not take its neighbours down.
 */
export type IsHarmless = (reason: unknown) => boolean

const judges = new Set<IsHarmless>()

/** For the rest of the process: a stray branch may reject long after whatever began it has been stopped. */
export function tolerateStrayRejections(isHarmless: IsHarmless): void {
  if (judges.size === 0) process.on('unhandledRejection', judge)
  judges.add(isHarmless)
}

function judge(reason: unknown): void {
  for (const isHarmless of judges) if (isHarmless(reason)) return
  // Alone, we stand in for Node's own behaviour; an application that listens too has its own.
  if (process.listenerCount('unhandledRejection') === 1) throw reason
}
