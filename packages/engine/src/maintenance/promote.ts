import { type Loop, startLoop } from '../lifecycle/service.ts'
import type { Logger } from '../protocol/foothold.ts'
import type { Database } from '../store/database.ts'
import { setAside, takeBack } from '../store/pauses.ts'
import { promoteTasks } from '../store/promote.ts'
import { announcePending } from '../store/settle.ts'

/** Waits written by other processes are seen within this time. */
const LOOK_MS = 1_000

/** So that waiting tasks are not kept waiting by a tenant's hundred thousand; the rest comes with the next round. */
const MOVES_MAX = 20

export interface Promoter {
  /** A wait of this length was written here. */
  expect(wakeInMs: number | null): void
  /** A pause has begun or ended. */
  wake(): void
  stop(): Promise<void>
}

/** Makes waiting tasks pending when they are due. */
export function startPromoter(options: {
  readonly db: Database
  readonly workerId: () => string
  readonly logger: Logger
  readonly onError: (error: unknown) => void
}): Promoter {
  const { db, workerId, logger, onError } = options
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
    async run(signal) {
      const { handlers, count, nextInMs: dueInMs, hasTenantPauses } = await promoteTasks(db)
      nextInMs = Math.min(LOOK_MS, dueInMs ?? LOOK_MS)
      if (hasTenantPauses) await moveTenants(db, workerId(), signal)
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
    wake: () => loop.wake(),
    async stop() {
      for (const timer of timers) clearTimeout(timer)
      await loop.stop()
    },
  }
}

/** Puts tasks of paused tenants aside, and those of others back into their queues. */
async function moveTenants(db: Database, workerId: string, signal: AbortSignal): Promise<void> {
  for (let move = 0; move < MOVES_MAX && !signal.aborted; move += 1) {
    const aside = await setAside(db, workerId)
    const back = await takeBack(db)
    await announcePending(db, back.handlers, { doing: 'announcing tasks of a pause that is over', patienceMs: 0 })
    if (aside === 0 && back.count === 0) return
  }
}
