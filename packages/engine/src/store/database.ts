import pg from 'pg'
import { sleep } from '../lifecycle/sleep.ts'
import { FootholdError } from '../protocol/errors.ts'
import { failureKind } from './sqlstate.ts'

/**
 * The one door to PostgreSQL. Every statement is a single autocommit statement that may be repeated: after a lost answer
 * nobody knows whether it was carried out, so it is sent again, the same, on a new connection.
 */

/** Long enough for a flush behind a slow disk, short enough for two tries inside a lease. */
const QUERY_TIMEOUT_MS = 10_000
const CONNECT_TIMEOUT_MS = 5_000
const FIRST_PAUSE_MS = 20
/** A reconnecting process must be back well inside the patience of those who watch it. */
const PAUSE_MAX_MS = 1_000
/** For answers that point at a fault of the server itself, or at nothing known. */
const STRANGE_FAILURES_MAX = 3

export interface RunOptions {
  /** For the error message: "submitting a task". */
  readonly doing: string
  /** How long to go on while the database is away. Default 30,000; Infinity with a signal. */
  readonly patienceMs?: number
  /** Stops the repetition; throws its reason. */
  readonly signal?: AbortSignal
}

export interface DatabaseOptions {
  readonly url: string
  readonly poolSize: number
  readonly onTrouble?: (error: Error) => void
}

export interface Database {
  // oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- each statement names the row it selects
  run<Row>(text: string, values: readonly unknown[], options: RunOptions): Promise<Row[]>
  /** A session of its own for a transaction; the caller releases it, with the error when it went wrong. */
  checkOut(): Promise<pg.PoolClient>
  close(): Promise<void>
}

export function openDatabase({ url, poolSize, onTrouble }: DatabaseOptions): Database {
  const pool = new pg.Pool({
    connectionString: url,
    max: poolSize,
    query_timeout: QUERY_TIMEOUT_MS,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    keepAlive: true,
    allowExitOnIdle: true,
    application_name: 'foothold',
  })
  // Without listeners a connection that dies idle, or checked out, would end the process.
  pool.on('error', (error) => onTrouble?.(error))
  pool.on('connect', (client) => client.on('error', (error) => onTrouble?.(error)))
  let closing: Promise<void> | undefined

  return {
    async run<Row>(text: string, values: readonly unknown[], options: RunOptions): Promise<Row[]> {
      const { doing, patienceMs = 30_000, signal } = options
      const startedAt = Date.now()
      let strangeFailures = 0
      for (let round = 0; ; round += 1) {
        signal?.throwIfAborted()
        if (closing !== undefined) throw new FootholdError('CLOSED', {})
        try {
          const result = await pool.query(text, values as unknown[])
          return result.rows as Row[]
        } catch (error) {
          const kind = failureKind(error)
          if (kind === 'ours') throw error
          if (kind === 'strange') {
            strangeFailures += 1
            if (strangeFailures >= STRANGE_FAILURES_MAX) throw error
          }
          const waitedMs = Date.now() - startedAt
          if (waitedMs >= patienceMs) {
            throw new FootholdError('DATABASE_UNAVAILABLE', { doing, waitedMs }, { cause: error })
          }
          if (round === 0) onTrouble?.(error as Error)
          await sleep(pauseMs(round), signal)
        }
      }
    },
    checkOut: () => pool.connect(),
    close() {
      closing ??= pool.end()
      return closing
    },
  }
}

/** Doubling, with jitter over the upper half: a fleet that lost its database together does not return together. */
function pauseMs(round: number): number {
  const full = Math.min(PAUSE_MAX_MS, FIRST_PAUSE_MS * 2 ** Math.min(round, 16))
  return full / 2 + (Math.random() * full) / 2
}
