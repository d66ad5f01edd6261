import { connect } from '../foothold.ts'
import { FootholdError } from '../protocol/errors.ts'
import type { Foothold } from '../protocol/foothold.ts'
import { type Database, openDatabase } from '../store/database.ts'
import { reachDatabase, readClock } from '../store/doctor.ts'

/** A person waits: long enough for a restart behind a proxy, short enough to be told. */
const REACH_MS = 3_000

export interface Connection {
  readonly foothold: Foothold
  readonly db: Database
  /** The database's time at the start, for "so long ago". */
  readonly now: Date
  close(): Promise<void>
}

/** The schema must stand: only `migrate` and `worker` change it. */
export async function openConnection(url: string | undefined): Promise<Connection> {
  const db = await openReached(url)
  try {
    const foothold = await connect(url, { migrate: false, logger: 'silent', poolSize: 2 })
    const close = async (): Promise<void> => {
      await foothold.close()
      await db.close()
    }
    return { foothold, db, now: await readClock(db), close }
  } catch (error) {
    await db.close()
    throw error
  }
}

/** A database that has answered once: whoever mistypes an address is told within seconds. */
export async function openReached(url: string | undefined): Promise<Database> {
  if (url === undefined || url === '') throw new FootholdError('DATABASE_URL_MISSING', {})
  const db = openDatabase({ url, poolSize: 2 })
  try {
    await reachDatabase(db, REACH_MS)
    return db
  } catch (error) {
    await db.close()
    throw error
  }
}
