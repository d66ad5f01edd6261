import type { ImportGraph, SourceFile, Violation } from '../import-graph.ts'
import type { Workspace } from '../workspaces.ts'

/** Which packages of this repository a shipped package may use. Applications and examples may use all of them. */
const MAY_USE: Readonly<Record<string, readonly string[]>> = {
  foothold: [],
  '@foothold/dev-postgres': [],
  '@foothold/http-api': [],
  '@foothold/models': ['foothold'],
  '@foothold/server': ['foothold', '@foothold/http-api'],
  '@foothold/dashboard': ['@foothold/http-api'],
  '@foothold/simulators': [],
}

export function packageArrows(graph: ImportGraph): Violation[] {
  const ours = new Set(graph.workspaces.map(({ name }) => name))
  return [...graph.files.values()].flatMap((file) => {
    const { workspace } = file
    if (workspace === undefined || file.isTest || isApplication(workspace)) return []
    const allowed = MAY_USE[workspace.name]
    if (allowed === undefined) return [{ path: file.path, problem: `${workspace.name} is not in tools/architecture` }]
    return packagesIn(file)
      .filter(({ name }) => ours.has(name) && !allowed.includes(name))
      .map(({ name }) => ({ path: file.path, problem: `${workspace.name} may not use ${name}` }))
  })
}

/** The same borders in package.json, where a forgotten line would be installed by everybody. */
export function declaredArrows(graph: ImportGraph): Violation[] {
  const ours = new Set(graph.workspaces.map(({ name }) => name))
  return graph.workspaces.flatMap((workspace) => {
    const path = `${workspace.folder}/package.json`
    const strangers = workspace.name === 'foothold' ? workspace.dependencies.filter((name) => name !== 'pg') : []
    const forbidden = isApplication(workspace)
      ? []
      : workspace.dependencies.filter((name) => ours.has(name) && !MAY_USE[workspace.name]?.includes(name))
    return [...new Set([...strangers, ...forbidden])].map((name) => ({
      path,
      problem: `${workspace.name} may not depend on ${name}`,
    }))
  })
}

/** Across a border only what a package exports by name; tests keep to it too. */
export function noDeepImports(graph: ImportGraph): Violation[] {
  return [...graph.files.values()].flatMap((file) => {
    const { workspace } = file
    const paths = file.imports.flatMap((target) => (target.kind === 'file' ? [target.path] : []))
    const strays = paths
      .filter((path) => workspace !== undefined && !path.startsWith(`${workspace.folder}/`))
      .map((path) => ({
        path: file.path,
        problem: `${path} is outside ${workspace?.name}: import its package by name`,
      }))
    const deep = packagesIn(file).flatMap(({ name, specifier }): Violation[] => {
      const target = graph.workspaces.find((candidate) => candidate.name === name)
      if (target === undefined || target.exports.includes(`.${specifier.slice(name.length)}`)) return []
      return [{ path: file.path, problem: `${specifier} is not among the names that ${name} exports` }]
    })
    return [...strays, ...deep]
  })
}

/** `foothold/testing` moves clocks and kills processes: for tests only. */
export function testingStaysInTests(graph: ImportGraph): Violation[] {
  return [...graph.files.values()].flatMap((file) => {
    if (file.isTest || file.workspace === undefined) return []
    return packagesIn(file)
      .filter(({ specifier }) => specifier === 'foothold/testing')
      .map(() => ({ path: file.path, problem: 'foothold/testing is for tests only' }))
  })
}

export function everyImportLeadsSomewhere(graph: ImportGraph): Violation[] {
  return [...graph.files.values()].flatMap((file) =>
    file.imports.flatMap((target): Violation[] =>
      target.kind === 'nowhere' ? [{ path: file.path, problem: `${target.specifier} does not exist` }] : [],
    ),
  )
}

function packagesIn(file: SourceFile): { name: string; specifier: string }[] {
  return file.imports.flatMap((target) => (target.kind === 'package' ? [target] : []))
}

function isApplication({ folder }: Workspace): boolean {
  return folder.startsWith('apps/') || folder.startsWith('examples/')
}
