import type { DevPostgres } from './dev-postgres.ts'
import { startKept } from './kept-server.ts'
import { type DevPostgresOptions, readOptions } from './options.ts'
import { startForTests } from './test-server.ts'

/** Starts a real PostgreSQL on 127.0.0.1 from binaries that npm installed. For development and tests, not for production. */
export async function startDevPostgres(options: DevPostgresOptions = {}): Promise<DevPostgres> {
  const wish = readOptions(options)
  return options.purpose === 'test' ? await startForTests(wish) : await startKept(wish)
}
