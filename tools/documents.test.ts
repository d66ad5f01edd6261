import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createTestDatabase } from 'foothold/testing'
import pg from 'pg'
import { expect, inject, test } from 'vitest'
import { anchorsOf, codeBlocks, linksOf, npmCallsOf, pathsOf } from './documents/document-text.ts'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8')
const scriptsOf = (folder: string): Record<string, string> => {
  const { scripts = {} } = JSON.parse(read(join(folder, 'package.json'))) as { scripts?: Record<string, string> }
  return scripts
}

const DOCUMENTS = [
  ...readdirSync(ROOT).filter((name) => name.endsWith('.md')),
  ...readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => join('docs', name)),
]

/** Folders of the workspaces that a command can name with -w. */
const FOLDER_OF = new Map(
  ['packages', 'apps', 'examples']
    .flatMap((parent) => readdirSync(join(ROOT, parent)).map((name) => `${parent}/${name}`))
    .concat('simulators')
    .filter((folder) => existsSync(join(ROOT, folder, 'package.json')))
    .map((folder) => [(JSON.parse(read(`${folder}/package.json`)) as { name: string }).name, folder]),
)

test('the documents are seen, and there is something in them to check', () => {
  expect(DOCUMENTS).toEqual(expect.arrayContaining(['README.md', 'CONTRIBUTING.md', 'docs/protocol.md']))
  expect(npmCallsOf(read('README.md')).length).toBeGreaterThan(4)
  expect(linksOf(read('README.md')).length).toBeGreaterThan(10)
  expect(pathsOf(read('docs/protocol.md')).length).toBeGreaterThan(20)
})

test.each(DOCUMENTS)('every npm command in %s exists', (document) => {
  const missing = npmCallsOf(read(document)).filter(({ script, workspace }) => {
    const folder = workspace === null ? '.' : FOLDER_OF.get(workspace)
    return folder === undefined || scriptsOf(folder)[script] === undefined
  })

  expect(missing).toEqual([])
})

test.each(DOCUMENTS)('every link in %s leads to a file, and to a heading in it', (document) => {
  const broken = linksOf(read(document)).filter(({ path, anchor }) => {
    const target = path === '' ? document : join(dirname(document), path)
    if (!existsSync(join(ROOT, target))) return true
    return anchor !== null && !anchorsOf(read(target)).has(anchor)
  })

  expect(broken).toEqual([])
})

test.each(DOCUMENTS)('every path that %s names exists', (document) => {
  const missing = pathsOf(read(document)).filter(
    (path) => !existsSync(join(ROOT, path)) && !existsSync(join(ROOT, 'packages/engine', path)),
  )

  expect(missing).toEqual([])
})

test('the first example of the README is the whole of a program that runs, the second a part of one', () => {
  const [first = '', second = ''] = codeBlocks(read('README.md'), 'ts')

  expect(`${first.trimEnd()}\n`).toBe(read('examples/first/first.ts'))
  expect(second.split('\n').length).toBeGreaterThan(10)
  expect(read('examples/hello/hello.ts')).toContain(second)
})

test('every SQL statement in the documents runs', async () => {
  const statements = DOCUMENTS.flatMap((document) => codeBlocks(read(document), 'sql'))
  const database = await createTestDatabase(inject('postgresUrl'))
  const client = new pg.Client({ connectionString: database.url })
  await client.connect()
  try {
    expect(statements.length).toBeGreaterThan(2)
    // As if a worker had been there: submitting by name needs a name that is known.
    await client.query(`insert into foothold.agents values ('support@1', 'support', 1, 900000, false, now())`)
    for (const statement of statements) {
      const answer = client.query(statement.replaceAll("'…'", 'foothold.new_id()'))
      await expect(answer, statement).resolves.toBeDefined()
    }
  } finally {
    await client.end()
    await database.drop()
  }
})
