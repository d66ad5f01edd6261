import { type Loop, startLoop } from '../lifecycle/service.ts'
import type { Logger } from '../protocol/foothold.ts'
import type { Database } from '../store/database.ts'
import { promoteTasks } from '../store/promote.ts'
import { announcePending } from '../store/settle.ts'

/** Waits written by other processes are seen within this time. */
const LOOK_MS = 1_000

export interface Promoter {
  /** A wait of this length was written here. */
  expect(wakeInMs: number | null): void
  stop(): Promise<void>
}

/** Makes waiting tasks pending when they are due. */
export function startPromoter(options: {
  readonly db: Database
  readonly logger: Logger
  readonly onError: (error: unknown) => void
}): Promoter {
  const { db, logger, onError } = options
  let nextInMs = LOOK_MS
  const timers = new Set<NodeJS.Timeout>()
  const loop: Loop = startLoop({
    name: 'promote',
    next: () => nextInMs,
    jitterRatio: 0.1,
    onError(error) {
      nextInMs = LOOK_MS
      onError(error)
    },
    async run() {
      const { handlers, count, nextInMs: dueInMs } = await promoteTasks(db)
      nextInMs = Math.min(LOOK_MS, dueInMs ?? LOOK_MS)
      if (count === 0) return
      logger.debug({ tasks: count }, 'waiting tasks are due')
      await announcePending(db, handlers, { doing: 'announcing due tasks', patienceMs: 0 })
    },
  })
  return {
    expect(wakeInMs) {
      // Later ones are found by the loop itself.
      if (wakeInMs === null || wakeInMs > LOOK_MS) return
      const timer = setTimeout(() => {
        timers.delete(timer)
        loop.wake()
      }, wakeInMs + 1)
      timers.add(timer)
    },
    async stop() {
      for (const timer of timers) clearTimeout(timer)
      await loop.stop()
    },
  }
}
