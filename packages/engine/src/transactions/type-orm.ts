import type { Queryable } from '../protocol/task-context.ts'

interface TypeOrmManager {
  query(text: string, values?: unknown[]): Promise<unknown>
}

/** Inside `dataSource.transaction(async (manager) => …)`. */
export function fromTypeOrm(manager: TypeOrmManager): Queryable {
  return {
    async query(text, values = []) {
      const rows = (await manager.query(text, values)) as unknown[]
      return { rows, rowCount: rows.length }
    },
  }
}
