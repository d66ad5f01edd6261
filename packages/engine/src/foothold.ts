import { checkOptionNames } from './client/arguments.ts'
import { createClient } from './client/client.ts'
import { jsonLogger, silentLogger } from './lifecycle/logger.ts'
import { unlessAborted } from './lifecycle/unless-aborted.ts'
import { startAlerts } from './maintenance/alert.ts'
import { checkAlertChannels } from './maintenance/alert-channels.ts'
import { startChildren } from './maintenance/children.ts'
import { startPromoter } from './maintenance/promote.ts'
import { pruneAll, startPruner } from './maintenance/prune.ts'
import { startReaper } from './maintenance/reap.ts'
import { startScheduler } from './maintenance/schedule.ts'
import type { Meter } from './metrics/meter.ts'
import { createMetrics } from './metrics/metrics.ts'
import {
  checkOperations,
  type OperationsAnswers,
  type OperationsPort,
  openOperationsPort,
} from './operations/operations-port.ts'
import type { AlertChannel } from './protocol/alerts.ts'
import { FootholdError } from './protocol/errors.ts'
import type { ConnectOptions, Foothold, Logger, WorkerOptions } from './protocol/foothold.ts'
import { type RetentionDays, retentionDays } from './protocol/retention.ts'
import { type Database, openDatabase } from './store/database.ts'
import { migrate, requireSchema } from './store/migrate.ts'
import { createNotifier } from './store/notify.ts'
import { createWorker, type Maintenance } from './worker/worker.ts'

/** The composition root: the only place that knows client, worker and maintenance together. */

const POOL_SIZE = 10
const HEARTBEAT_MS = 5_000

/**
 * Connects, and brings the schema up to date unless told not to.
 * @throws DATABASE_URL_MISSING, DATABASE_UNAVAILABLE, SCHEMA_MISSING, SCHEMA_NEWER, MIGRATION_CHANGED, INVALID_ARGUMENT
 */
export async function connect(url: string | undefined, options: ConnectOptions = {}): Promise<Foothold> {
  if (url === undefined || url === '') throw new FootholdError('DATABASE_URL_MISSING', {})
  const { alerts = [] } = options
  checkAlertChannels(alerts)
  const days = retentionDays('options.retention', options.retention)
  const logger = loggerOf(options.logger)
  const directUrl = options.directUrl ?? url
  if (options.migrate !== false) {
    await migrate({ url: directUrl, log: (line) => logger.info({}, line), signal: options.signal })
  }
  const open = (poolSize: number): Database =>
    openDatabase({
      url,
      poolSize,
      onTrouble: (error) => logger.debug({ error }, 'a database connection failed'),
    })
  const poolSize = options.poolSize ?? POOL_SIZE
  const db = open(poolSize)
  if (options.migrate === false) await requireOrClose(db, options.signal)
  const notifier = createNotifier(db, logger)
  const metrics = createMetrics(db)
  const { meter } = metrics
  const client = createClient({ db, notifier, meter })
  const workers = new Set<{ drain(): Promise<unknown> }>()
  let closing: Promise<void> | null = null

  const close = async (): Promise<void> => {
    await Promise.all([...workers].map((worker) => worker.drain()))
    client.stopWatching()
    notifier.close()
    metrics.stop()
    await db.close()
  }

  return {
    ...client,
    metrics: (registry) => metrics.mergeInto(registry),
    exposition: () => metrics.exposition(),
    async prune(pruneOptions = {}) {
      // A misspelt isDryRun must not remove anything.
      checkOptionNames('options', pruneOptions, ['isDryRun', 'retention'])
      const { isDryRun = false, retention } = pruneOptions
      return pruneAll(db, {
        isDryRun,
        days: retention === undefined ? days : retentionDays('options.retention', retention),
      })
    },
    worker(workerOptions) {
      if (workerOptions.operations !== undefined) checkOperations(workerOptions.operations)
      const worker = createWorker({
        options: workerOptions,
        directUrl,
        logger,
        meter,
        openDatabase: () => open(poolSize),
        openSessions: () => open(poolSize),
        openOperations: (notReady) =>
          openOperations(workerOptions, { notReady, exposition: () => metrics.exposition() }, logger),
        startMaintenance: (on) => startMaintenance(on, workerOptions, { alerts, days, logger, meter }),
      })
      workers.add(worker)
      return worker
    },
    close() {
      closing ??= close()
      return closing
    },
  }
}

async function requireOrClose(db: Database, signal: AbortSignal | undefined): Promise<void> {
  try {
    await unlessAborted(requireSchema(db, signal), signal)
  } catch (error) {
    await unlessAborted(db.close(), signal).catch(() => undefined)
    throw error
  }
}

async function openOperations(
  { operations }: WorkerOptions,
  answers: OperationsAnswers,
  logger: Logger,
): Promise<OperationsPort | null> {
  if (operations === undefined) return null
  const port = await openOperationsPort(operations, answers)
  logger.info({ url: port.url }, 'operations port listens')
  return port
}

function startMaintenance(
  on: { readonly db: Database; readonly workerId: () => string },
  { heartbeatMs = HEARTBEAT_MS, leaseMs = 4 * heartbeatMs }: WorkerOptions,
  {
    alerts,
    days,
    logger,
    meter,
  }: {
    readonly alerts: readonly AlertChannel[]
    readonly days: RetentionDays
    readonly logger: Logger
    readonly meter: Meter
  },
): Maintenance {
  const onError = (error: unknown): void => logger.debug({ worker: on.workerId(), error }, 'a maintenance round failed')
  const reaper = startReaper({ ...on, heartbeatMs, leaseMs, logger, meter, onError })
  const promoter = startPromoter({ ...on, logger, onError })
  const scheduler = startScheduler({ ...on, logger, meter, onError })
  const pruner = startPruner({ ...on, days, logger, onError })
  const children = startChildren({ db: on.db, onError })
  const alerting = startAlerts({ db: on.db, channels: alerts, logger, onError })
  return {
    expectWake: (wakeInMs) => promoter.expect(wakeInMs),
    pausesChanged: () => promoter.wake(),
    sweepNow: () => reaper.wake(),
    async stop() {
      await Promise.all([reaper, promoter, children, scheduler, pruner, alerting].map((loop) => loop.stop()))
    },
  }
}

function loggerOf(given: Logger | 'silent' | undefined): Logger {
  return given === 'silent' ? silentLogger : (given ?? jsonLogger())
}
