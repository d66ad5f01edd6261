/** `foothold/transactions`: other libraries' transactions for `submit(…, { transaction })`. Structural: none of them is imported. */
export { fromDrizzle } from './drizzle.ts'
export { fromKnex } from './knex.ts'
export { fromKysely } from './kysely.ts'
export { fromPostgresJs } from './postgres-js.ts'
export { fromPrisma } from './prisma.ts'
export { fromTypeOrm } from './type-orm.ts'
