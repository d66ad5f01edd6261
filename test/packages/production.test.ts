import { readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { createTestDatabase } from 'foothold/testing'
import { afterAll, beforeAll, expect, inject, test } from 'vitest'
import { installProject, type Project } from './project.ts'

let project: Project

beforeAll(async () => {
  project = await installProject('production')
})
afterAll(() => project.remove())

interface Installed {
  readonly version: string
  readonly dependencies?: Readonly<Record<string, Installed>>
}

interface InstalledManifest {
  readonly scripts?: Readonly<Record<string, string>>
}

const MIB = 2 ** 20

async function bytesIn(folder: string): Promise<number> {
  const names = await readdir(folder, { recursive: true })
  const stats = await Promise.all(names.map((name) => stat(join(folder, name))))
  return stats.reduce((sum, entry) => sum + (entry.isFile() ? entry.size : 0), 0)
}

test('an installation is foothold and pg with what pg brings, under 2 MB in all', async () => {
  const { dependencies } = JSON.parse(await project.run('npm', ['ls', '--all', '--json'])) as Installed
  const foothold = dependencies?.['foothold']

  expect(Object.keys(dependencies ?? {})).toEqual(['foothold'])
  expect(Object.keys(foothold?.dependencies ?? {})).toEqual(['pg'])
  const packages = (await readdir(join(project.folder, 'node_modules'))).filter((name) => !name.startsWith('.'))
  const bytes = await bytesIn(join(project.folder, 'node_modules'))
  const ours = await bytesIn(join(project.folder, 'node_modules/foothold'))
  console.log(
    `foothold: ${(ours / MIB).toFixed(2)} MiB; the whole installation: ${(bytes / MIB).toFixed(2)} MiB, ${packages.join(', ')}`,
  )
  expect(bytes).toBeLessThan(2_000_000)
})

test('nothing in it wants to run a script when it is installed', async () => {
  const folder = join(project.folder, 'node_modules')
  const names = (await readdir(folder)).filter((name) => !name.startsWith('.'))
  const manifests = await Promise.all(
    names.map(
      async (name) => JSON.parse(await readFile(join(folder, name, 'package.json'), 'utf8')) as InstalledManifest,
    ),
  )
  const scripts = manifests.flatMap(({ scripts = {} }) => Object.keys(scripts))

  expect(names).toContain('pg-protocol')
  expect(scripts.filter((name) => ['preinstall', 'install', 'postinstall'].includes(name))).toEqual([])
})

test.each(inject('nodes'))('CommonJS requires it, also beside its ES modules (Node.js $version)', async ({ path }) => {
  const database = await createTestDatabase(inject('postgresUrl'))

  const output = await project.run(path, ['common.cjs'], { DATABASE_URL: database.url })

  expect(output).toMatch(/^Привет, мир!\ntrue true .*TerminalError: не сегодня\n$/)
  await database.drop()
})

test.each(inject('nodes'))('its command runs (Node.js $version)', async ({ path }) => {
  expect(await project.run(path, ['node_modules/.bin/foothold', '--help'])).toContain('usage: foothold <command>')
})
