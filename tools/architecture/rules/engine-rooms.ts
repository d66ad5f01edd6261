import type { ImportGraph, SourceFile, Violation } from '../import-graph.ts'

const SOURCE = 'packages/engine/src/'

/** Which rooms a room may look into besides itself. The root is foothold.ts, which composes, and index.ts, which names. */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  protocol: [],
  lifecycle: ['protocol'],
  store: ['protocol', 'lifecycle'],
  metrics: ['protocol', 'lifecycle', 'store'],
  worker: ['protocol', 'lifecycle', 'store', 'metrics'],
  maintenance: ['protocol', 'lifecycle', 'store', 'metrics'],
  client: ['protocol', 'lifecycle', 'store', 'metrics'],
  operations: ['protocol', 'lifecycle', 'metrics'],
  // Exported by a name of its own, for applications; the engine itself knows pg alone.
  transactions: ['protocol'],
  root: ['protocol', 'lifecycle', 'store', 'metrics', 'worker', 'maintenance', 'client', 'operations'],
  // A program on top of the composition root: it looks into the tables itself, but runs and steers through what is public.
  cli: ['protocol', 'lifecycle', 'store', 'root'],
  testing: ['protocol', 'lifecycle', 'store', 'metrics', 'worker', 'maintenance', 'client', 'root'],
}

export function engineRooms(graph: ImportGraph): Violation[] {
  return productionFiles(graph).flatMap((file) => {
    const room = roomOf(file.path)
    const allowed = MAY_IMPORT[room]
    if (allowed === undefined) {
      return [
        {
          path: file.path,
          problem: `"${room}" is no room of the engine; add it to tools/architecture or move the file`,
        },
      ]
    }
    return file.imports.flatMap((target): Violation[] => {
      if (target.kind !== 'file' || !target.path.startsWith(SOURCE)) return []
      const to = roomOf(target.path)
      if (to === room || allowed.includes(to)) return []
      return [{ path: file.path, problem: `${room} may not import ${to} (${target.path})` }]
    })
  })
}

/** The engine brings `pg` and nothing else; protocol stands on the language alone. */
export function engineDependencies(graph: ImportGraph): Violation[] {
  return productionFiles(graph).flatMap((file) =>
    file.imports.flatMap((target): Violation[] => {
      if (target.kind !== 'package' && target.kind !== 'node') return []
      if (roomOf(file.path) === 'protocol') {
        return [{ path: file.path, problem: `protocol imports nothing, not even ${target.specifier}` }]
      }
      if (target.kind === 'node' || target.name === 'pg') return []
      return [{ path: file.path, problem: `the engine depends on pg alone, not on ${target.name}` }]
    }),
  )
}

const AMBIENT =
  /\bDate\s*\.\s*now\b|\bnew\s+Date\s*\(\s*\)|\bMath\s*\.\s*random\b|\b(?:setTimeout|setInterval|performance|process)\b|\bcrypto\s*\./

/** What protocol decides depends on what it is handed: no clock, no randomness, no process. */
export function protocolIsPure(graph: ImportGraph): Violation[] {
  return productionFiles(graph).flatMap((file) => {
    if (roomOf(file.path) !== 'protocol') return []
    const found = AMBIENT.exec(file.text.code)
    return found === null ? [] : [{ path: file.path, problem: `protocol may not use ${found[0]}: hand the value in` }]
  })
}

const SQL = /\b(select|insert into|update|delete from)\b[^]*\b(from|set|into|values)\b/i
const MAY_HOLD_SQL = new Set(['store', 'testing'])

export function sqlInStore(graph: ImportGraph): Violation[] {
  return productionFiles(graph).flatMap((file) => {
    if (MAY_HOLD_SQL.has(roomOf(file.path))) return []
    return file.text.strings
      .filter((text) => SQL.test(text))
      .map((text) => ({
        path: file.path,
        problem:
          `this looks like SQL, which lives in packages/engine/src/store only: "${text.trim().slice(0, 60)}" ` +
          '(a sentence that only sounds like it can be put in other words)',
      }))
  })
}

function productionFiles(graph: ImportGraph): SourceFile[] {
  return [...graph.files.values()].filter((file) => file.path.startsWith(SOURCE) && !file.isTest)
}

function roomOf(path: string): string {
  const inside = path.slice(SOURCE.length)
  return inside.includes('/') ? (inside.split('/')[0] ?? '') : 'root'
}
