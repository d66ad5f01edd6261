import { createTestDatabase } from 'foothold/testing'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { installProject, type Project } from './project.ts'

interface Report {
  readonly name: string
  readonly tookMs: number
}

const LIBRARIES = ['pg', 'drizzle', 'drizzle on postgres.js', 'prisma', 'kysely', 'knex', 'postgres.js', 'typeorm']
/** An idle worker looks once a second; a task that commits is not announced. Twice that, for a busy machine. */
const SEEN_WITHIN_MS = 4_000

let project: Project

beforeAll(async () => {
  project = await installProject('transactions')
  // Prisma fetches its schema engine from a server of its own; generating a client does not run it.
  await project.run('node', ['node_modules/prisma/build/index.js', 'generate'], {
    PRISMA_SCHEMA_ENGINE_BINARY: process.execPath,
    CHECKPOINT_DISABLE: '1',
  })
  await project.run('node', ['node_modules/typescript/bin/tsc', '-p', '.'])
})
afterAll(() => project.remove())

describe.each(inject('nodes'))('a task submitted in another library’s transaction, on Node.js $version', ({ path }) => {
  let reports: Report[]

  beforeAll(async () => {
    const database = await createTestDatabase(inject('postgresUrl'))
    const output = await project.run(path, ['built/transactions.js'], { DATABASE_URL: database.url })
    reports = output.split('\n').flatMap((line) => (line.startsWith('{') ? [JSON.parse(line) as Report] : []))
    await database.drop()
  })

  test.each(LIBRARIES)('lives and dies with it, input intact, and a worker takes it after the commit (%s)', (name) => {
    const report = reports.find((candidate) => candidate.name === name)

    expect(report).toEqual({
      name,
      isSameTask: true,
      areInputsKept: true,
      seenBefore: 0,
      later: 'waiting',
      orders: [1, 0],
      tasks: [1, 0],
      tookMs: expect.any(Number) as number,
    })
    expect(report?.tookMs).toBeLessThan(SEEN_WITHIN_MS)
  })
})
