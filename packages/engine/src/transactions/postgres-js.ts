import type { Queryable } from '../protocol/task-context.ts'

interface PostgresJsTransaction {
  // oxlint-disable-next-line typescript/no-explicit-any -- its own type of parameters is not exported
  unsafe(text: string, parameters: any[]): PromiseLike<unknown[]>
  // oxlint-disable-next-line typescript/no-explicit-any -- as above
  typed(value: any, type: number): unknown
}

const TEXT = 25

/** Inside `sql.begin(async (sql) => …)`. */
export function fromPostgresJs(sql: PostgresJsTransaction): Queryable {
  return {
    async query(text, values = []) {
      // A string for a json column is text here; without its type postgres.js would encode it as JSON once more.
      const typed = values.map((value) => (typeof value === 'string' ? sql.typed(value, TEXT) : value))
      const rows = await sql.unsafe(text, typed)
      return { rows: [...rows], rowCount: rows.length }
    },
  }
}
