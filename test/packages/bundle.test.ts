import { copyFile, mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createTestDatabase } from 'foothold/testing'
import { afterAll, beforeAll, describe, expect, inject, onTestFinished, test } from 'vitest'
import { installProject, killedAndStartedAnew, type Project, startProgram } from './project.ts'

let project: Project

beforeAll(async () => {
  project = await installProject('hello')
})
afterAll(() => project.remove())

/** What pg needs inside an ES module: esbuild leaves its calls of `require`. */
const REQUIRE = "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);"

describe.each([
  ['CommonJS, minified', 'bundle.cjs', ['--format=cjs', '--minify']],
  ['ES modules', 'bundle.mjs', ['--format=esm', `--banner:js=${REQUIRE}`]],
])('bundled by esbuild into one file (%s)', (_, name, flags) => {
  beforeAll(async () => {
    const esbuild = join(project.folder, 'node_modules/esbuild/bin/esbuild')
    const fixed = ['bundled.ts', '--bundle', '--platform=node', '--log-level=error', `--outfile=${name}`]
    await project.run(process.execPath, [esbuild, ...fixed, ...flags])
  })

  test.each(inject('nodes'))(
    'alone in a folder, it keeps its heartbeat while it blocks, and goes on after a kill (Node.js $version)',
    async ({ path }) => {
      const folder = await mkdtemp(join(tmpdir(), 'foothold-bundle-'))
      const database = await createTestDatabase(inject('postgresUrl'))
      await copyFile(join(project.folder, name), join(folder, name))
      onTestFinished(() => rm(folder, { recursive: true }))
      const start = () => startProgram(path, [name], { cwd: folder, env: { DATABASE_URL: database.url } })
      expect(await readdir(folder)).toEqual([name])

      const [first, second] = await killedAndStartedAnew(start, 'writing in attempt 1')

      expect(await second.exit).toBe(0)
      expect(first.lines).toEqual(['blocked in attempt 1', 'writing in attempt 1'])
      expect(second.lines).toEqual(['blocked in attempt 2', 'writing in attempt 2', 'done: Привет, мир!'])
      await database.drop()
    },
  )
})
