import { monotonicMs } from '../lifecycle/clock.ts'
import { type Loop, startLoop } from '../lifecycle/service.ts'
import { cancelChildren, tellParents } from '../store/children.ts'
import type { Database } from '../store/database.ts'
import { announcePending } from '../store/settle.ts'

const LOOK_MS = 1_000
/** Of the time that the looks take: ten thousand open children must not cost a core. */
const PAUSE_RATIO = 20

/**
 * Tells parents of children's ends, and cancels what runs below cancelled tasks, where whoever should have done it died
 * before, runs an older release, or was a person with SQL. Every worker does it; rounds side by side are safe.
 */
export function startChildren(options: { readonly db: Database; readonly onError: (error: unknown) => void }): Loop {
  const { db, onError } = options
  let pauseMs = LOOK_MS
  return startLoop({
    name: 'children',
    next: () => pauseMs,
    jitterRatio: 0.2,
    onError,
    async run() {
      const startedMs = monotonicMs()
      const told = await tellParents(db, null, { doing: 'waking parents', patienceMs: 0 })
      if (told.hasCancelled) await cancelChildren(db, null)
      await announcePending(db, told.handlers, { doing: 'announcing parents', patienceMs: 0 })
      pauseMs = Math.max(LOOK_MS, PAUSE_RATIO * (monotonicMs() - startedMs))
    },
  })
}
