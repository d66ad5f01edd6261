export type { ProbeDetail, ProbePoint } from '../lifecycle/probe.ts'
export { type MovableClock, movableClock } from './clock.ts'
export { createTestDatabase, type TestDatabase, type TestDatabaseOptions } from './database.ts'
export { type HeldPoint, holdAt, type KillPoint, killAt } from './kill-points.ts'
