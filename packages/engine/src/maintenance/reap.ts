import { type Loop, startLoop } from '../lifecycle/service.ts'
import type { Meter } from '../metrics/meter.ts'
import type { Logger } from '../protocol/foothold.ts'
import type { Database } from '../store/database.ts'
import { announcePending } from '../store/settle.ts'
import { sweepTasks } from '../store/sweep.ts'
import { reapWorkers } from '../store/workers.ts'

const LOOK_MS = 500

/** Finds lost workers and returns their tasks. Every worker does it; there is no leader, and rounds side by side are safe. */
export function startReaper(options: {
  readonly db: Database
  readonly workerId: () => string
  readonly heartbeatMs: number
  readonly leaseMs: number
  readonly logger: Logger
  readonly meter: Meter
  readonly onError: (error: unknown) => void
}): Loop {
  const { db, heartbeatMs, leaseMs, logger, meter, onError } = options
  return startLoop({
    name: 'reap',
    everyMs: Math.min(LOOK_MS, leaseMs / 4),
    jitterRatio: 0.2,
    onError,
    async run() {
      const lost = await reapWorkers(db, { workerId: options.workerId(), heartbeatMs, leaseMs })
      meter.workersLost(lost.length)
      for (const { id } of lost) {
        logger.warn({ worker: options.workerId(), lost: id }, 'worker lost')
      }
      const { swept, followUps } = await sweepTasks(db)
      for (const task of swept) {
        meter.orphanTaken(task.agent, task.outcome)
        logger.warn(
          {
            task: task.id,
            worker: options.workerId(),
            lost: task.workerId,
            reason: 'orphaned',
            outcome: task.outcome,
            crashes: task.crashCount,
          },
          'orphan swept',
        )
      }
      const pending = swept.filter((task) => task.outcome === 'pending').map((task) => task.handler)
      await announcePending(db, [...pending, ...followUps], { doing: 'announcing orphans', patienceMs: 0 })
    },
  })
}
