import type { TestProject } from 'vitest/node'
// By path: vitest loads a global setup without the export condition that leads to sources.
import { startDevPostgres } from '../packages/dev-postgres/src/index.ts'

declare module 'vitest' {
  export interface ProvidedContext {
    /** A superuser's URL of this run's PostgreSQL; tests make databases of their own in it. */
    postgresUrl: string
  }
}

const VARIABLE = 'FOOTHOLD_TEST_DATABASE_URL'

/** One PostgreSQL for the whole run: the one the environment names, or a new one that ends with the run. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const given = process.env[VARIABLE]
  if (given !== undefined && given !== '') {
    project.provide('postgresUrl', given)
    return async () => {}
  }

  const server = await startDevPostgres({ purpose: 'test', log: (line) => console.error(line) })
  project.provide('postgresUrl', server.url)
  process.env[VARIABLE] = server.url
  return async () => {
    delete process.env[VARIABLE]
    await server.stop()
  }
}
