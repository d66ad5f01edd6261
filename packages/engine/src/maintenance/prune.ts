import { type Loop, startLoop } from '../lifecycle/service.ts'
import type { Logger } from '../protocol/foothold.ts'
import type { PruneReport, RetentionDays } from '../protocol/retention.ts'
import type { Database } from '../store/database.ts'
import {
  type Page,
  type PageRequest,
  pruneAlertGroups,
  pruneChunks,
  pruneDedupeKeys,
  pruneTasks,
  pruneWorkers,
} from '../store/prune.ts'

/** In this order: chunks are most of the rows, and a task without them is quickly removed. */
const KINDS: Readonly<Record<keyof PruneReport, (db: Database, request: PageRequest) => Promise<Page>>> = {
  chunks: pruneChunks,
  tasks: pruneTasks,
  dedupeKeys: pruneDedupeKeys,
  workers: pruneWorkers,
  alertGroups: pruneAlertGroups,
}

const FIRST_LOOK_MS = 60_000
const LOOK_MS = 600_000
/** Of a fleet that was started together not all look together. */
const JITTER_RATIO = 0.5
/** Of each kind; so that claims of this process have the connections to themselves now and then. */
const PAGES_MAX = 50
const BREATH_MS = 1_000

/** Removes what has ended and had its time. Every worker does it; there is no leader, and rounds side by side are safe. */
export function startPruner(options: {
  readonly db: Database
  readonly workerId: () => string
  readonly days: RetentionDays
  readonly logger: Logger
  readonly onError: (error: unknown) => void
  readonly firstLookMs?: number
}): Loop {
  const { db, workerId, days, logger, onError, firstLookMs = FIRST_LOOK_MS } = options
  let nextInMs: number | null = null
  let places: Places = {}
  return startLoop({
    name: 'prune',
    next: () => nextInMs,
    jitterRatio: JITTER_RATIO,
    onError(error) {
      nextInMs = LOOK_MS
      onError(error)
    },
    async run(signal) {
      // A process that lives for seconds has other things to do.
      if (nextInMs === null) {
        nextInMs = firstLookMs
        return
      }
      const round = await pruneRound(db, { days, isDryRun: false, places, signal })
      places = round.places
      nextInMs = Object.keys(places).length === 0 ? LOOK_MS : BREATH_MS
      if (Object.values(round.report).some((count) => count > 0)) {
        logger.info({ ...round.report, worker: workerId() }, 'pruned')
      }
    },
  })
}

/** All that there is to remove, or to count, now. */
export async function pruneAll(
  db: Database,
  options: { readonly days: RetentionDays; readonly isDryRun: boolean; readonly signal?: AbortSignal | undefined },
): Promise<PruneReport> {
  let total: PruneReport = NOTHING
  let places: Places = {}
  do {
    const round = await pruneRound(db, { ...options, places })
    total = sumOf(total, round.report)
    places = round.places
  } while (Object.keys(places).length > 0 && options.signal?.aborted !== true)
  return total
}

/** Where the next round goes on, for each kind that is not through; none: all are. */
type Places = { readonly [Kind in keyof PruneReport]?: string }

const NOTHING: PruneReport = { tasks: 0, chunks: 0, dedupeKeys: 0, workers: 0, alertGroups: 0 }
const KIND_NAMES = Object.keys(KINDS) as (keyof PruneReport)[]

async function pruneRound(
  db: Database,
  options: {
    readonly days: RetentionDays
    readonly isDryRun: boolean
    readonly places: Places
    readonly signal?: AbortSignal | undefined
  },
): Promise<{ readonly report: PruneReport; readonly places: Places }> {
  const { days, isDryRun, signal } = options
  const isFirst = Object.keys(options.places).length === 0
  const report: Record<keyof PruneReport, number> = { ...NOTHING }
  const places: Record<string, string> = {}
  for (const kind of KIND_NAMES) {
    let after: string | null = options.places[kind] ?? null
    if (after === null && !isFirst) continue
    for (let page = 0; page < PAGES_MAX && signal?.aborted !== true; page += 1) {
      const { removed, next } = await KINDS[kind](db, { after, days, isDryRun })
      report[kind] += removed
      after = next
      if (after === null) break
    }
    if (after !== null) places[kind] = after
  }
  return { report, places }
}

function sumOf(a: PruneReport, b: PruneReport): PruneReport {
  return Object.fromEntries(KIND_NAMES.map((kind) => [kind, a[kind] + b[kind]])) as unknown as PruneReport
}
