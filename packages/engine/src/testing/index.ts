export { type MovableClock, movableClock } from './clock.ts'
export { createTestDatabase, type TestDatabase } from './database.ts'
