import type pg from 'pg'
import type { Database } from '../../src/store/database.ts'
import { until, type World } from './world.ts'

/** The engine's statements on a session whose transaction the test holds open. */
export function databaseOn(session: pg.Client): Database {
  return {
    run: async (text, values) => (await session.query(text, values as unknown[])).rows,
    checkOut: () => Promise.reject(new Error('not here')),
    close: async () => undefined,
  }
}

/**
 * The same database with one guard cut out of the statements: the negative control. Fails when the guard is not there,
 * so that a control cannot rot into a copy of its test.
 */
export function without(db: Database, guard: string, instead = ''): Database {
  return {
    ...db,
    run: (text, values, options) => {
      if (!text.includes(guard)) throw new Error(`There is no "${guard}" in: ${text}`)
      return db.run(text.replace(guard, instead), values, options)
    },
  }
}

/** Resolves when some session of this database waits for a lock. */
export async function lockIsAwaited(world: Pick<World, 'query'>): Promise<void> {
  await until('a session waits for a lock', async () => {
    const rows = await world.query(
      `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
    )
    return rows.length > 0
  })
}
