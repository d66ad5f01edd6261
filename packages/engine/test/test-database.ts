import { inject } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../src/testing/database.ts'

/**
 * Of a role that may create nothing: the engine's tests run as a production does whose administrator has migrated. What a
 * test makes for itself (tables, triggers, another clock), it makes by `ownerUrl`.
 */
export function engineDatabase(): Promise<TestDatabase> {
  return createTestDatabase(inject('postgresUrl'), { role: 'foothold_app' })
}
