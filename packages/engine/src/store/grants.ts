import pg from 'pg'
import type { Database } from './database.ts'

/**
 * What a role needs to run workers and clients on a schema that another one made: rows, and no right to create, alter or
 * drop anything, or to say which migrations are applied.
 */
export function grantStatements(role: string): readonly string[] {
  const name = pg.escapeIdentifier(role)
  return [
    `grant usage on schema foothold to ${name}`,
    `grant select, insert, update, delete on all tables in schema foothold to ${name}`,
    `revoke insert, update, delete on foothold.migrations from ${name}`,
    `grant execute on function foothold.clock(), foothold.new_id() to ${name}`,
    // For what later migrations of the same owner add: a rolling deploy must not wait for somebody to grant.
    `alter default privileges in schema foothold grant select, insert, update, delete on tables to ${name}`,
  ]
}

/** Safe to repeat. */
export async function grantTo(db: Database, role: string): Promise<void> {
  for (const statement of grantStatements(role)) await db.run(statement, [], { doing: `granting rights to ${role}` })
}
