import type { Queryable } from '../protocol/task-context.ts'

interface CompiledStatement {
  readonly sql: string
  readonly parameters: readonly unknown[]
  readonly query: {
    readonly kind: 'RawNode'
    readonly sqlFragments: readonly string[]
    readonly parameters: readonly never[]
  }
  readonly queryId: { readonly queryId: string }
}

interface KyselyTransaction {
  executeQuery(statement: CompiledStatement): Promise<{ readonly rows: unknown[] }>
}

/** Inside `db.transaction().execute(async (trx) => …)`. */
export function fromKysely(trx: KyselyTransaction): Queryable {
  return {
    async query(text, values = []) {
      // What Kysely's CompiledQuery.raw() makes.
      const { rows } = await trx.executeQuery({
        sql: text,
        parameters: values,
        query: { kind: 'RawNode', sqlFragments: [text], parameters: [] },
        queryId: { queryId: 'foothold' },
      })
      return { rows, rowCount: rows.length }
    },
  }
}
