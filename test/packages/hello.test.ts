import { cp } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createTestDatabase } from 'foothold/testing'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { installProject, killedAndStartedAnew, type Project, startProgram } from './project.ts'

let project: Project

beforeAll(async () => {
  project = await installProject('hello')
  await cp(fileURLToPath(new URL('../../examples/hello/hello.ts', import.meta.url)), join(project.folder, 'hello.ts'))
  await project.run('node', ['node_modules/typescript/bin/tsc', '-p', '.', '--module', 'nodenext'])
})
afterAll(() => project.remove())

describe.each(['typescript', 'typescript-5'])('the hello of the README under %s', (compiler) => {
  test.each([
    ['nodenext', ['--module', 'nodenext', '--moduleResolution', 'nodenext']],
    ['bundler', ['--module', 'esnext', '--moduleResolution', 'bundler']],
  ])('its types hold, strictly and with the types of all libraries checked (%s)', async (_, flags) => {
    const tsc = join('node_modules', compiler, 'bin/tsc')

    expect(await project.run('node', [tsc, '-p', '.', '--noEmit', ...flags])).toBe('')
  })
})

// One after the other: in concurrent tests what one has registered for its end may run at the end of another.
describe.each(inject('nodes'))('on Node.js $version', ({ path }) => {
  test('installed from the registry, killed in its second step and run again, it goes on after its first', async () => {
    const database = await createTestDatabase(inject('postgresUrl'))
    const start = () =>
      startProgram(path, ['built/hello.js'], { cwd: project.folder, env: { DATABASE_URL: database.url } })

    const [, second] = await killedAndStartedAnew(start, 'step 2, attempt 1')

    expect(await second.exit).toBe(0)
    expect(second.lines.at(-1)).toBe('done: Привет, мир! (written in attempt 2)')
    await database.drop()
  })
})
