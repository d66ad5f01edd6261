import type { Queryable } from '../protocol/task-context.ts'

interface DrizzleTransaction<Statement> {
  execute(statement: Statement): PromiseLike<unknown>
}

/** Drizzle's own `sql`. */
interface DrizzleSql<Statement, Chunk> {
  raw(text: string): Chunk
  param(value: unknown): Chunk
  join(chunks: Chunk[]): Statement
}

/** Inside `db.transaction(async (tx) => …)`, with the `sql` of drizzle-orm: `fromDrizzle(tx, sql)`. */
export function fromDrizzle<Statement, Chunk>(
  tx: DrizzleTransaction<Statement>,
  sql: DrizzleSql<Statement, Chunk>,
): Queryable {
  return {
    async query(text, values = []) {
      // Odd pieces are the numbers of $1, $2, …: Drizzle numbers its parameters itself.
      const pieces = text.split(/\$(\d+)/)
      const chunks = pieces.map((piece, at) => (at % 2 === 0 ? sql.raw(piece) : sql.param(values[Number(piece) - 1])))
      const answer = await tx.execute(sql.join(chunks))
      // On pg it answers with pg's result, on postgres.js with the rows.
      const rows = Array.isArray(answer) ? answer : (answer as { rows: unknown[] }).rows
      return { rows, rowCount: rows.length }
    },
  }
}
