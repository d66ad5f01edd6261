import type { Logger } from '../protocol/foothold.ts'
import type { Database } from './database.ts'
import { announcePending } from './settle.ts'

/** Polling finds every task; a burst of submits gains nothing from more calls than one per handler in this time. */
const QUIET_MS = 50

export interface Notifier {
  /** Says that a task of this handler is pending, after its commit. Never fails: it is an accelerator only. */
  notify(handler: string): void
  close(): void
}

export function createNotifier(db: Database, log?: Pick<Logger, 'debug'>): Notifier {
  /** Handlers announced within the last QUIET_MS; true when one more task came meanwhile. */
  const quiet = new Map<string, { again: boolean; timer: NodeJS.Timeout }>()
  let isClosed = false

  const announce = (handler: string): void => {
    const timer = setTimeout(() => {
      const entry = quiet.get(handler)
      quiet.delete(handler)
      if (entry?.again === true) announce(handler)
    }, QUIET_MS)
    timer.unref()
    quiet.set(handler, { again: false, timer })
    announcePending(db, [handler], { doing: 'announcing a task', patienceMs: 0 }).catch((error: unknown) => {
      if (!isClosed) log?.debug({ error, handler }, 'A pending task could not be announced; polling will find it.')
    })
  }

  return {
    notify(handler) {
      if (isClosed) return
      const entry = quiet.get(handler)
      if (entry === undefined) announce(handler)
      else entry.again = true
    },
    close() {
      isClosed = true
      for (const { timer } of quiet.values()) clearTimeout(timer)
      quiet.clear()
    },
  }
}
