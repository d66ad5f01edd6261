import { monotonicMs } from '../lifecycle/clock.ts'
import { startLoop } from '../lifecycle/service.ts'
import type { AlertChannel } from '../protocol/alerts.ts'
import type { Logger } from '../protocol/foothold.ts'
import { groupAlerts, lookAtGroups, readAlertWork } from '../store/alerts.ts'
import type { Database } from '../store/database.ts'
import { HANDLER_UNKNOWN, lookAtHandlers } from '../store/unknown-handlers.ts'
import { startAlertChannel } from './alert-channel.ts'

const LOOK_MS = 1_000
const HANDLERS_EVERY_MS = 5_000

/**
 * Tells on-call of dead letters, and of pending tasks that no live worker can run: groups new alerts, counts where their tasks stand, and wakes the channels that have
 * something to show. Every worker does it, with or without channels; there is no leader. Each channel has a loop of its
 * own, so that one that is down holds up neither the others nor the counting.
 */
export function startAlerts(options: {
  readonly db: Database
  readonly channels: readonly AlertChannel[]
  readonly logger: Logger
  readonly onError: (error: unknown) => void
}): { stop(): Promise<void> } {
  const { db, channels, logger, onError } = options
  const names = channels.map(({ name }) => name)
  const senders = new Map(channels.map((channel) => [channel.name, startAlertChannel({ ...options, channel })]))
  let handlersSeenAtMs = Number.NEGATIVE_INFINITY

  async function lookForHandlers(): Promise<boolean> {
    if (monotonicMs() - handlersSeenAtMs < HANDLERS_EVERY_MS) return false
    handlersSeenAtMs = monotonicMs()
    const found = await lookAtHandlers(db, names)
    for (const { state, since, ...alert } of found) {
      const fields = { ...alert, reason: HANDLER_UNKNOWN, since: new Date(since).toISOString() }
      if (state === 'resolved') logger.info(fields, 'alert resolved')
      else logger.warn(fields, 'pending tasks that no live worker can run')
    }
    return found.length > 0
  }

  const loop = startLoop({
    name: 'alert',
    everyMs: LOOK_MS,
    jitterRatio: 0.2,
    onError,
    async run() {
      const work = await readAlertWork(db, names)
      const grouped = work.hasNew ? await groupAlerts(db, names) : 0
      const looked = grouped > 0 || work.hasLooks ? await lookAtGroups(db) : []
      for (const { id, isResolved, ...group } of looked) {
        if (isResolved) logger.info({ group: id, ...group }, 'alert resolved')
      }
      const isNews = (await lookForHandlers()) || looked.length > 0
      const due = isNews ? names : work.channels
      for (const name of due) senders.get(name)?.wake()
    },
  })
  return {
    async stop() {
      await Promise.all([loop, ...senders.values()].map((one) => one.stop()))
    },
  }
}
