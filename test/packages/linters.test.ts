import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { installProject, type Project } from './project.ts'

const FILES = /^package\/(package\.json|README\.md|LICENSE|LICENSES\.txt|(dist|commonjs|page)\/.+)$/

let project: Project

beforeAll(async () => {
  project = await installProject('linters')
})
afterAll(() => project.remove())

describe.each(Object.entries(inject('tarballs')))('the tarball of %s', (name, tarball) => {
  test('publint has nothing to say', async () => {
    expect(await project.run('node', ['node_modules/publint/src/cli.js', 'run', tarball, '--strict'])).toContain(
      'All good!',
    )
  })

  test('its types are found wherever its code is', async () => {
    const profile = name === 'foothold' ? 'node16' : 'esm-only'

    await project.run('node', ['node_modules/@arethetypeswrong/cli/dist/index.js', tarball, '--profile', profile])
  })

  test('holds what is run and what is read, no sources, tests or maps', async () => {
    const { stdout } = await promisify(execFile)('tar', ['tf', tarball])
    const names = stdout.trim().split('\n')

    expect(names).toEqual(expect.arrayContaining(['package/README.md', 'package/LICENSE', 'package/dist/index.js']))
    expect(names.filter((path) => !FILES.test(path) || /\.(map|tsbuildinfo)$|\.test\./.test(path))).toEqual([])
  })

  test('its manifest leads nowhere else and runs nothing', async () => {
    const { stdout } = await promisify(execFile)('tar', ['xOf', tarball, 'package/package.json'])

    expect(stdout).not.toMatch(/@foothold\/source|src\/|"scripts"|"devDependencies"/)
    expect(JSON.parse(stdout)).toMatchObject({ license: 'MIT', engines: { node: '>=20.19' }, type: 'module' })
  })
})
