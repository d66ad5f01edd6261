import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'

const here = dirname(fileURLToPath(import.meta.url))
const root = join(here, '../../../..')
const tsc = join(dirname(createRequire(import.meta.url).resolve('typescript/package.json')), 'bin/tsc')
const EXPECTATION = /^.*\/\/ @ts-expect-error.*$/gm

/** Compiles the sample beside itself, so that its imports hold. */
function errorsIn(source: string): string[] {
  const folder = mkdtempSync(join(here, 'tmp-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  writeFileSync(join(folder, 'surface.ts'), source.replaceAll("'../../src/", "'../../../src/"))
  writeFileSync(
    join(folder, 'tsconfig.json'),
    JSON.stringify({
      extends: join(root, 'tsconfig.test.json'),
      compilerOptions: { types: ['node'], typeRoots: [join(root, 'node_modules/@types')] },
      include: ['surface.ts'],
    }),
  )
  const { stdout, status } = spawnSync(process.execPath, [tsc, '-p', folder], { encoding: 'utf8' })
  const errors = stdout.split('\n').filter((line) => line.includes('error TS'))
  if (status !== 0 && errors.length === 0) throw new Error(stdout)
  return errors
}

const surface = readFileSync(join(here, 'surface.ts'), 'utf8')

test('right uses of the public surface compile, through zod and valibot inference', () => {
  expect(errorsIn(surface)).toEqual([])
}, 60_000)

test('each wrong use does not compile', () => {
  const expectations = surface.match(EXPECTATION) ?? []
  expect(expectations.length).toBeGreaterThan(20)

  // Blank lines in place of the expectations keep the line numbers; one error on each line that follows one.
  const errors = errorsIn(surface.replaceAll(EXPECTATION, ''))

  const linesWithErrors = new Set(errors.map((line) => Number(line.match(/surface\.ts\((\d+),/)?.[1])))
  const wanted = surface.split('\n').flatMap((line, index) => (line.includes('@ts-expect-error') ? [index + 2] : []))
  expect([...linesWithErrors].sort((a, b) => a - b)).toEqual(wanted)
}, 60_000)
