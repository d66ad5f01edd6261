import type { Logger } from '../../src/index.ts'
import { startPromoter } from '../../src/maintenance/promote.ts'
import { startReaper } from '../../src/maintenance/reap.ts'
import { Meter } from '../../src/metrics/meter.ts'
import { openDatabase } from '../../src/store/database.ts'
import { createWorker } from '../../src/worker/worker.ts'
import { ledgerAgent } from './ledger-agent.ts'

/**
 * A worker with one line of defence, composed as foothold.ts composes one with all of them. `sweep`: it looks for lost
 * workers and takes their tasks, and a stop signal ends it as it ends any program. `drain`: it hands over at a stop
 * signal, and nobody ever declares anybody lost. Its first argument is JSON.
 */
export interface DefendedWorkerSettings {
  readonly defence: 'sweep' | 'drain'
  readonly url: string
  /** Where the outside world keeps its books. */
  readonly ledgerUrl: string
  /** Of the model's step. */
  readonly pauseMs: number
  readonly heartbeatMs: number
  readonly leaseMs: number
}

const { defence, url, ledgerUrl, pauseMs, heartbeatMs, leaseMs } = JSON.parse(
  process.argv[2] as string,
) as DefendedWorkerSettings
const tell = (message: object): void => void process.send?.(message)
const told = (fields: object, message: string): void => tell({ message, ...fields })
const logger: Logger = { debug: () => undefined, info: told, warn: told, error: told }
const onError = (error: unknown): void => logger.warn({ error: String(error) }, 'a maintenance round failed')
const meter = new Meter()
const open = (): ReturnType<typeof openDatabase> => openDatabase({ url, poolSize: 10 })

const worker = createWorker({
  options: {
    agents: [
      ledgerAgent(ledgerUrl, { receiver: 'keys', pauseMs, pauseAt: 'generate', onStep: (step) => tell({ step }) }),
    ],
    heartbeatMs,
    leaseMs,
    graceMs: 2_000,
    lifeline: false,
  },
  directUrl: url,
  logger,
  meter,
  openDatabase: open,
  openSessions: open,
  openOperations: () => Promise.resolve(null),
  startMaintenance(on) {
    const promoter = startPromoter({ ...on, logger, onError })
    const reaper = defence === 'sweep' ? startReaper({ ...on, heartbeatMs, leaseMs, logger, meter, onError }) : null
    return {
      expectWake: (wakeInMs) => promoter.expect(wakeInMs),
      pausesChanged: () => promoter.wake(),
      sweepNow: () => reaper?.wake(),
      async stop() {
        await Promise.all([promoter.stop(), reaper?.stop()])
      },
    }
  },
})

// A parent that is gone must not leave a worker behind.
const orphaned = (): never => process.exit(3)
process.on('disconnect', orphaned)
if (defence === 'drain') {
  await worker.run()
  process.off('disconnect', orphaned)
  process.disconnect?.()
} else {
  await worker.start()
}
