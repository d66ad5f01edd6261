import pg from 'pg'
import { onTestFinished } from 'vitest'
import { type Agent, connect, type Foothold, type Logger, type Worker, type WorkerOptions } from '../../src/index.ts'
import { engineDatabase } from '../test-database.ts'

/** A test's own world: a database, a connection, and a look at the tables as they are. */
export interface World {
  /** Of a role that may create nothing: the engine's. */
  readonly url: string
  /** The test's own: it may make tables, triggers and another clock. */
  readonly ownerUrl: string
  readonly foothold: Foothold
  readonly log: readonly LogLine[]
  /** A worker with a short heartbeat (100 ms) and lease (1 s), stopped with the test. */
  readonly worker: (agents: readonly Agent[], options?: Partial<WorkerOptions>) => Promise<Worker>
  /** The same, with all its statements through another address. */
  readonly workerAt: (url: string, agents: readonly Agent[], options?: Partial<WorkerOptions>) => Promise<Worker>
  readonly query: <Row = Record<string, unknown>>(text: string, values?: unknown[]) => Promise<Row[]>
  /** A session of its own, to hold transactions open. */
  readonly session: () => Promise<pg.Client>
}

export interface LogLine {
  readonly level: string
  readonly message: string
  readonly fields: Record<string, unknown>
}

export async function setup(): Promise<World> {
  const database = await engineDatabase()
  const log: LogLine[] = []
  const foothold = await connect(database.url, { logger: recording(log) })
  const pool = new pg.Pool({ connectionString: database.ownerUrl, max: 5 })
  pool.on('error', () => undefined)
  const sessions: pg.Client[] = []
  const elsewhere: Foothold[] = []
  const startWorker = async (
    on: Foothold,
    agents: readonly Agent[],
    options: Partial<WorkerOptions>,
  ): Promise<Worker> => {
    const worker = on.worker({ agents, heartbeatMs: 100, leaseMs: 1_000, graceMs: 2_000, ...options })
    await worker.start()
    return worker
  }
  onTestFinished(async () => {
    await Promise.all([foothold, ...elsewhere].map((on) => on.close()))
    await Promise.all(sessions.map((session) => session.end()))
    await pool.end()
    await database.drop()
  })
  return {
    url: database.url,
    ownerUrl: database.ownerUrl,
    foothold,
    log,
    worker: (agents, options = {}) => startWorker(foothold, agents, options),
    async workerAt(url, agents, options = {}) {
      const on = await connect(url, { logger: recording(log), migrate: false })
      elsewhere.push(on)
      return startWorker(on, agents, options)
    },
    query: async (text, values) => (await pool.query(text, values)).rows,
    async session() {
      const session = new pg.Client({ connectionString: database.ownerUrl })
      session.on('error', () => undefined)
      await session.connect()
      sessions.push(session)
      return session
    },
  }
}

function recording(log: LogLine[]): Logger {
  const at =
    (level: string) =>
    (fields: object, message: string): void => {
      log.push({ level, message, fields: fields as Record<string, unknown> })
    }
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') }
}

export { agentOf } from './agents.ts'

/** Looks until it is so. */
export async function until<T>(what: string, look: () => T | Promise<T>, timeoutMs = 15_000): Promise<NonNullable<T>> {
  const endsAt = Date.now() + timeoutMs
  for (;;) {
    const seen = await look()
    if (seen !== null && seen !== undefined && seen !== false) return seen
    if (Date.now() > endsAt) throw new Error(`Waited ${timeoutMs} ms in vain: ${what}`)
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}

/** A promise to be resolved from outside. */
export function gate(): { readonly opened: Promise<void>; open(): void } {
  let open: () => void = () => undefined
  const opened = new Promise<void>((resolve) => {
    open = resolve
  })
  return { opened, open }
}
