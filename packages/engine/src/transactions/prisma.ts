import type { Queryable } from '../protocol/task-context.ts'

interface PrismaTransaction {
  $queryRawUnsafe(text: string, ...values: unknown[]): PromiseLike<unknown>
}

/** Inside `prisma.$transaction(async (tx) => …)`. */
export function fromPrisma(tx: PrismaTransaction): Queryable {
  return {
    async query(text, values = []) {
      // "Unsafe" is about texts put together from input; these are Foothold's own, with their values apart.
      const rows = (await tx.$queryRawUnsafe(text, ...values)) as unknown[]
      return { rows, rowCount: rows.length }
    },
  }
}
