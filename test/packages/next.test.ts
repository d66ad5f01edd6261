import { cp, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createTestDatabase } from 'foothold/testing'
import { afterAll, beforeAll, expect, inject, test } from 'vitest'
import { freePorts } from '../../tools/free-ports.ts'
import { installProject, type Project, startProgram } from './project.ts'

let project: Project
/** The build alone, where its project is not. */
let standalone: string

beforeAll(async () => {
  project = await installProject('next')
  await project.run('node', ['node_modules/next/dist/bin/next', 'build'], { NEXT_TELEMETRY_DISABLED: '1' })
  standalone = await mkdtemp(join(tmpdir(), 'foothold-standalone-'))
  await cp(join(project.folder, '.next/standalone'), standalone, { recursive: true })
})
afterAll(async () => {
  await project.remove()
  await rm(standalone, { recursive: true, force: true })
})

test.each(inject('nodes'))(
  'a standalone build of Next.js submits, and a worker apart from it runs the task (Node.js $version)',
  async ({ path }) => {
    const database = await createTestDatabase(inject('postgresUrl'))
    const env = { DATABASE_URL: database.url, NEXT_TELEMETRY_DISABLED: '1' }
    const worker = startProgram(path, ['worker.mjs'], { cwd: project.folder, env })
    await worker.said('the worker runs')
    const [port] = await freePorts(1)
    const server = startProgram(path, ['server.js'], {
      cwd: standalone,
      env: { ...env, PORT: String(port), HOSTNAME: '127.0.0.1' },
    })
    await server.said('Ready')

    const answer = await fetch(`http://127.0.0.1:${port}/api/ask`, {
      method: 'POST',
      body: JSON.stringify({ name: 'мир' }),
    })

    expect(await answer.json()).toMatchObject({ answer: 'Привет, мир!' })
    worker.kill('SIGTERM')
    expect(await worker.exit).toBe(0)
    server.kill('SIGTERM')
    await server.exit
    await database.drop()
  },
)
