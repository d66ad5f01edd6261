import type { Database } from '../store/database.ts'
import { readGauges, type SystemGauges } from '../store/gauges.ts'
import { METRICS } from './catalogue.ts'
import { type Family, gauge } from './instruments.ts'

/** However many processes are scraped by however many Prometheus, each asks the database this often at most. */
const ASK_EVERY_MS = 5_000
/** Inside the usual scrape timeout of 10 s: what the process knows by itself must arrive also when the database hangs. */
const ANSWER_MS = 2_000
const STATUSES = ['pending', 'processing', 'waiting', 'dead_letter'] as const
const WORKER_STATUSES = ['active', 'draining'] as const

export interface DatabaseGauges {
  families(): Promise<{ readonly families: readonly Family[]; readonly agents: readonly string[] }>
}

/** The state of the whole system, the same from every process: take `max by`, never a sum over processes. */
export function createDatabaseGauges(db: Database): DatabaseGauges {
  let askedAtMs = Number.NEGATIVE_INFINITY
  let asking: Promise<SystemGauges | null> = Promise.resolve(null)

  function ask(): Promise<SystemGauges | null> {
    if (performance.now() - askedAtMs < ASK_EVERY_MS) return asking
    askedAtMs = performance.now()
    asking = orNullAfter(ANSWER_MS, readGauges(db))
    return asking
  }

  return {
    async families() {
      const read = await ask()
      if (read === null) return { families: [gauge(METRICS.databaseUp, [[[], 0]])], agents: [] }
      const agents = [...new Set([...read.agents, ...read.tasks.map(({ agent }) => agent)])]
      const countOf = (agent: string, status: string): number =>
        read.tasks.find((row) => row.agent === agent && row.status === status)?.count ?? 0
      const ageOf = (agent: string): number => read.queues.find((row) => row.agent === agent)?.seconds ?? 0
      return {
        agents: read.agents,
        families: [
          gauge(METRICS.databaseUp, [[[], 1]]),
          gauge(
            METRICS.tasks,
            agents.flatMap((agent) => STATUSES.map((status) => [[agent, status], countOf(agent, status)] as const)),
          ),
          gauge(
            METRICS.queueOldest,
            agents.map((agent) => [[agent], ageOf(agent)]),
          ),
          gauge(
            METRICS.systemWorkers,
            WORKER_STATUSES.map((status) => [[status], read.workers.find((row) => row.status === status)?.count ?? 0]),
          ),
        ],
      }
    },
  }
}

async function orNullAfter<T>(ms: number, work: Promise<T>): Promise<T | null> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<null>((resolve) => {
    timer = setTimeout(() => resolve(null), ms)
  })
  try {
    return await Promise.race([work.catch(() => null), late])
  } finally {
    clearTimeout(timer)
  }
}
