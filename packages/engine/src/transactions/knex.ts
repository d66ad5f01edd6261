import type { Queryable } from '../protocol/task-context.ts'

interface KnexTransaction {
  // oxlint-disable-next-line typescript/no-explicit-any -- Knex's type of bindings names its own classes
  raw(text: string, bindings: any): PromiseLike<unknown>
}

/** Inside `knex.transaction(async (trx) => …)`, on the client `pg`. */
export function fromKnex(trx: KnexTransaction): Queryable {
  return {
    async query(text, values = []) {
      const bindings: unknown[] = []
      // Knex counts question marks; one that belongs to the statement is escaped.
      const counted = text.replace(/\?|\$(\d+)/g, (_, number: string | undefined) => {
        if (number === undefined) return '\\?'
        bindings.push(values[Number(number) - 1])
        return '?'
      })
      return (await trx.raw(counted, bindings)) as Awaited<ReturnType<Queryable['query']>>
    },
  }
}
