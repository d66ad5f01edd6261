import { createTestDatabase } from 'foothold/testing'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { installProject, type Project, startProgram } from './project.ts'

const JEST = 'node_modules/jest/bin/jest.js'

const NESTS = [
  // ES modules, which Jest can require from Node.js 24.9 on, with this flag.
  {
    nest: '12',
    flags: ['--experimental-vm-modules'],
    versions: {},
    nodes: inject('nodes').filter(({ version }) => !version.startsWith('20.')),
  },
  {
    nest: '11',
    flags: [],
    versions: {
      '@nestjs/common': '11.2.10',
      '@nestjs/core': '11.2.10',
      '@nestjs/platform-express': '11.2.10',
      '@nestjs/testing': '11.2.6',
    },
    nodes: inject('nodes'),
  },
]
const onNodes = NESTS.flatMap(({ nodes, ...nest }) => nodes.map((node) => ({ ...nest, ...node })))

describe.each(onNodes)('a project of NestJS $nest on Node.js $version', ({ flags, versions, path }) => {
  let project: Project

  beforeAll(async () => {
    project = await installProject('nest', versions)
    await project.run('node', ['node_modules/typescript/bin/tsc', '-p', 'tsconfig.build.json'])
  })
  afterAll(() => project.remove())

  test('its Jest runs a provider that submits and the worker beside it', async () => {
    const database = await createTestDatabase(inject('postgresUrl'))

    const output = await project.run(path, [...flags, JEST, 'greetings'], { DATABASE_URL: database.url })

    expect(output).toContain('Tests:       1 passed, 1 total')
    await database.drop()
  })

  test('its Jest loads foothold and foothold/testing as CommonJS', async () => {
    const output = await project.run(path, [JEST, 'plain'], { DATABASE_URL: inject('postgresUrl') })

    expect(output).toContain('Tests:       1 passed, 1 total')
  })

  test('built and started, it answers a request with the result of a task, and drains on SIGTERM', async () => {
    const database = await createTestDatabase(inject('postgresUrl'))
    const app = startProgram(path, ['dist/main.js'], { cwd: project.folder, env: { DATABASE_URL: database.url } })
    const url = (await app.said('listening on ')).replace('listening on ', '')

    const answer = await fetch(`${url}/greetings`, { method: 'POST' })

    expect(await answer.text()).toBe('Привет, мир!')
    app.kill('SIGTERM')
    await app.exit
    await database.drop()
  })
})
