import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { buildGraph } from './architecture/import-graph.ts'
import { EVERY_RULE } from './architecture/rules/every-rule.ts'
import { readSourceFiles } from './architecture/source-files.ts'
import { readWorkspaces } from './architecture/workspaces.ts'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const workspaces = readWorkspaces(root)
const graph = buildGraph(readSourceFiles(root), workspaces)

describe('the import graph is the real one', () => {
  // A gate that sees nothing passes everything: these fail when paths, workspaces or the scanner stop matching.
  test('it sees every source that a package exports', () => {
    const entries = workspaces.flatMap((workspace) => workspace.entries)

    expect(entries.length).toBeGreaterThanOrEqual(5)
    expect(entries.filter((entry) => !graph.files.has(entry))).toEqual([])
  })

  test('it sees files in every room of the engine, and their imports', () => {
    const engine = [...graph.files.values()].filter((file) => file.path.startsWith('packages/engine/src/'))
    const rooms = new Set(engine.map((file) => file.path.split('/')[3]))
    const imports = engine.flatMap((file) => file.imports)

    expect([...rooms]).toEqual(expect.arrayContaining(['protocol', 'lifecycle', 'store', 'foothold.ts', 'index.ts']))
    expect(imports.filter(({ kind }) => kind === 'file').length).toBeGreaterThan(30)
    expect(imports.filter(({ kind }) => kind === 'package').length).toBeGreaterThan(0)
    expect(imports.filter(({ kind }) => kind === 'node').length).toBeGreaterThan(0)
  })
})

describe('the borders hold', () => {
  test.each(Object.entries(EVERY_RULE))('%s', (_, rule) => {
    const violations = rule(graph).map(({ path, problem }) => `${path}: ${problem}`)

    expect(violations, violations.join('\n')).toEqual([])
  })
})
