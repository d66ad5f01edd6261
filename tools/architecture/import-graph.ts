import { posix } from 'node:path'
import { readSourceText, type SourceText } from './source-text.ts'
import type { Workspace } from './workspaces.ts'

/** Where an import leads: a file of this repository, a package (by the specifier as written), or Node itself. */
export type Target =
  | { readonly kind: 'file'; readonly path: string }
  | { readonly kind: 'package'; readonly name: string; readonly specifier: string }
  | { readonly kind: 'node'; readonly specifier: string }
  | { readonly kind: 'nowhere'; readonly specifier: string }

export interface SourceFile {
  /** From the repository's root, with forward slashes. */
  readonly path: string
  readonly workspace: Workspace | undefined
  readonly isTest: boolean
  readonly text: SourceText
  readonly imports: readonly Import[]
}

/** A type-only import is gone at run time; for the borders it counts like any other, for circles it does not. */
export type Import = Target & { readonly isTypeOnly: boolean }

export interface ImportGraph {
  readonly files: ReadonlyMap<string, SourceFile>
  readonly workspaces: readonly Workspace[]
}

export interface Violation {
  readonly path: string
  readonly problem: string
}

export function buildGraph(texts: ReadonlyMap<string, string>, workspaces: readonly Workspace[]): ImportGraph {
  const files = new Map<string, SourceFile>()
  for (const [path, raw] of texts) {
    const text = readSourceText(raw)
    files.set(path, {
      path,
      workspace: workspaces.find((workspace) => path.startsWith(`${workspace.folder}/`)),
      isTest: isTestPath(path),
      text,
      imports: importsOf(text).map(({ specifier, isTypeOnly }) => ({ ...follow(specifier, path, texts), isTypeOnly })),
    })
  }
  return { files, workspaces }
}

/** Files of these kinds may use what production code may not: they are never shipped. */
function isTestPath(path: string): boolean {
  return (
    /\.(test|test-d|bench)\.tsx?$/.test(path) ||
    /^(?:(?:packages|apps)\/[^/]+\/|simulators\/|)(?:test|bench|chaos)\//.test(path)
  )
}

// [^";]: a string or the end of a statement in between would mean that the keyword belongs to another one.
const FROM = /\b(?:import|export)\b(\s+type\b(?!\s*(?:,|from\b)))?[^";]*?\bfrom\s*"(\d+)"/g
const BARE = /\b(?:import|require)()\s*\(?\s*"(\d+)"/g

export function importsOf({ code, strings }: SourceText): { specifier: string; isTypeOnly: boolean }[] {
  const isTypeOnly = new Map<string, boolean>()
  for (const [, type, index] of [...code.matchAll(FROM), ...code.matchAll(BARE)]) {
    const specifier = strings[Number(index)] ?? ''
    isTypeOnly.set(specifier, Boolean(type) && (isTypeOnly.get(specifier) ?? true))
  }
  return [...isTypeOnly].map(([specifier, only]) => ({ specifier, isTypeOnly: only }))
}

function follow(specifier: string, from: string, texts: ReadonlyMap<string, string>): Target {
  if (specifier.startsWith('node:')) return { kind: 'node', specifier }
  if (!specifier.startsWith('.')) {
    const parts = specifier.split('/')
    return { kind: 'package', specifier, name: parts.slice(0, specifier.startsWith('@') ? 2 : 1).join('/') }
  }
  const path = posix.join(posix.dirname(from), specifier)
  if (texts.has(path)) return { kind: 'file', path }
  // Styles, pictures and JSON carry no imports of their own.
  return /\.tsx?$/.test(path) ? { kind: 'nowhere', specifier } : { kind: 'file', path }
}
