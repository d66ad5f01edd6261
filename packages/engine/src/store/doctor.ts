import type { Database } from './database.ts'

/** One statement that must be answered, whatever the schema. */
export async function reachDatabase(db: Database, patienceMs: number): Promise<void> {
  await db.run(`select 1`, [], { doing: 'connecting', patienceMs })
}

/** The time that every stored time was taken from. */
export async function readClock(db: Database): Promise<Date> {
  const rows = await db.run<{ now: Date | string }>(`select foothold.clock() as now`, [], {
    doing: 'reading the clock',
  })
  return new Date(rows[0]?.now ?? Number.NaN)
}
