import { createHash } from 'node:crypto'
import { Socket } from 'node:net'
import pg from 'pg'
import { sleep } from '../lifecycle/sleep.ts'
import { FootholdError } from '../protocol/errors.ts'
import type { Database } from './database.ts'
import { MIGRATIONS, type Migration } from './migrations/embedded.ts'
import { failureKind } from './sqlstate.ts'

/**
 * Brings the schema to the version this library carries.
 * 1. When nothing is missing it takes no lock and needs no right but to read: a role without CREATE can start.
 * 2. Each migration is a transaction under one advisory lock, held by the transaction: a killed process leaves neither
 *    the lock nor half a migration, and a transaction-level pooler does no harm.
 * 3. Under the lock the version is read anew, and its row is inserted first: a second runner fails there, before any DDL.
 */

/** 'foothold' in ASCII; advisory locks share one number space per database. */
const MIGRATION_LOCK = '7381240860042554468'
/** Behind a long reader the DDL would queue, and everybody else behind the DDL: give way and come back. */
const LOCK_TIMEOUT_MS = 5_000
/** A process stopped in mid-migration must not hold up the others for ever. */
const IDLE_TIMEOUT_MS = 30_000
const PATIENCE_MS = 60_000
const PAUSE_MS = 200

export interface MigrateOptions {
  /** A session-level address where there is a choice. */
  readonly url: string
  readonly log?: (line: string) => void
  /** Stops waiting for the database, in the middle of a migration too, which then is rolled back; throws its reason. */
  readonly signal?: AbortSignal | undefined
}

export interface MigrateReport {
  readonly version: number
  /** What this call applied; empty when nothing was missing, or another process was quicker. */
  readonly applied: number[]
}

interface AppliedMigration {
  readonly version: number
  readonly checksum: string
  readonly breaking: boolean
}

export async function migrate({ url, log = () => {}, signal }: MigrateOptions): Promise<MigrateReport> {
  const startedAt = Date.now()
  const applied: number[] = []
  let lastTrouble = ''
  for (;;) {
    signal?.throwIfAborted()
    try {
      const version = await withSession(url, signal, (session) => applyMissing(session, applied, log))
      return { version, applied }
    } catch (error) {
      signal?.throwIfAborted()
      const waitedMs = Date.now() - startedAt
      if (failureKind(error) === 'ours' || error instanceof FootholdError) throw error
      if (waitedMs >= PATIENCE_MS) {
        throw new FootholdError('DATABASE_UNAVAILABLE', { doing: 'migrating the schema', waitedMs }, { cause: error })
      }
      const trouble = error instanceof Error ? error.message : String(error)
      if (trouble !== lastTrouble) log(`Migrating is put off: ${trouble}`)
      lastTrouble = trouble
      await sleep(PAUSE_MS, signal)
    }
  }
}

/** The newest migration that this library carries. */
export const KNOWN_VERSION: number = MIGRATIONS.at(-1)?.version ?? 0

/** The version up to which nothing is missing, 0 without a schema. Throws like `migrate` where this library must not run. */
export async function schemaVersion(db: Database): Promise<number> {
  const { version, missing } = await readSchema(db)
  return missing[0] === undefined ? version : (MIGRATIONS[MIGRATIONS.indexOf(missing[0]) - 1]?.version ?? 0)
}

export async function requireSchema(db: Database, signal?: AbortSignal): Promise<void> {
  if ((await readSchema(db, signal)).missing.length > 0) throw new FootholdError('SCHEMA_MISSING', {})
}

async function readSchema(db: Database, signal?: AbortSignal): Promise<Schema> {
  const options = { doing: 'reading the schema version', ...(signal === undefined ? {} : { signal }) }
  return schemaOf(await readApplied((text) => db.run(text, [], options)))
}

export function checksumOf(migration: Migration): string {
  return createHash('sha256').update(migration.sql).digest('hex')
}

async function withSession<T>(
  url: string,
  signal: AbortSignal | undefined,
  use: (session: pg.Client) => Promise<T>,
): Promise<T> {
  // Our own socket: the driver has no way to give up a connection that is still being made.
  const socket = new Socket()
  const giveUp = (): void => void socket.destroy(new Error('given up'))
  const session = new pg.Client({
    connectionString: url,
    stream: () => socket,
    connectionTimeoutMillis: LOCK_TIMEOUT_MS,
    keepAlive: true,
    application_name: 'foothold migrate',
  })
  // The statement under way reports a broken connection; without a listener an idle moment would end the process.
  session.on('error', () => {})
  signal?.addEventListener('abort', giveUp, { once: true })
  try {
    await session.connect()
    return await use(session)
  } finally {
    signal?.removeEventListener('abort', giveUp)
    await session.end().catch(() => {})
  }
}

async function applyMissing(session: pg.Client, applied: number[], log: (line: string) => void): Promise<number> {
  const read = async (): Promise<Schema> =>
    schemaOf(await readApplied(async (text) => (await session.query<never>(text)).rows))
  let schema = await read()
  while (schema.missing.length > 0) {
    await session.query('begin')
    await session.query(`set local lock_timeout = ${LOCK_TIMEOUT_MS}`)
    await session.query(`set local idle_in_transaction_session_timeout = ${IDLE_TIMEOUT_MS}`)
    await session.query(`select pg_advisory_xact_lock(${MIGRATION_LOCK})`)
    const [next] = (await read()).missing
    if (next !== undefined) await applyOne(session, next)
    await session.query('commit')
    if (next !== undefined) {
      applied.push(next.version)
      log(`Applied migration ${next.version} (${next.name})`)
    }
    schema = await read()
  }
  return schema.version
}

async function applyOne(session: pg.Client, migration: Migration): Promise<void> {
  if (migration.version === 1) await createLedger(session)
  await session.query(
    `insert into foothold.migrations (version, name, checksum, applied_at, breaking) values ($1, $2, $3, clock_timestamp(), $4)`,
    [migration.version, migration.name, checksumOf(migration), migration.breaking],
  )
  await session.query(migration.sql)
}

/** The schema may have been made by an administrator for a role that must not create any: IF NOT EXISTS asks for the right all the same. */
async function createLedger(session: pg.Client): Promise<void> {
  const found = await session.query(`select 1 from pg_namespace where nspname = 'foothold'`)
  if (found.rowCount === 0) await session.query('create schema foothold')
  await session.query(`
    create table foothold.migrations (
      version int primary key,
      name text not null,
      checksum text not null,
      applied_at timestamptz not null,
      breaking boolean not null
    )`)
}

type Read = <Row>(text: string) => Promise<Row[]>

async function readApplied(run: Read): Promise<readonly AppliedMigration[]> {
  // A scan, not to_regclass(): that may answer from the session's cache, which, in the transaction that has just waited
  // for the lock, still knows that there was no such table.
  const found = await run<{ found: number }>(
    `select 1 as found from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where n.nspname = 'foothold' and c.relname = 'migrations'`,
  )
  if (found.length === 0) return []
  return run<AppliedMigration>(`select version, checksum, breaking from foothold.migrations order by version`)
}

interface Schema {
  /** The highest applied version, 0 without any. */
  readonly version: number
  /** In their order. One may be lower than what has been applied: branches of this library grow side by side. */
  readonly missing: readonly Migration[]
}

function schemaOf(applied: readonly AppliedMigration[]): Schema {
  for (const { version, checksum, breaking } of applied) {
    const known = MIGRATIONS.find((migration) => migration.version === version)
    // A newer release may run beside this one during a rolling upgrade, unless it says that it must not.
    if (known === undefined && breaking) {
      throw new FootholdError('SCHEMA_NEWER', { found: version, known: KNOWN_VERSION })
    }
    if (known !== undefined && checksum !== checksumOf(known)) throw new FootholdError('MIGRATION_CHANGED', { version })
  }
  const versions = new Set(applied.map(({ version }) => version))
  return {
    version: applied.at(-1)?.version ?? 0,
    missing: MIGRATIONS.filter(({ version }) => !versions.has(version)),
  }
}
