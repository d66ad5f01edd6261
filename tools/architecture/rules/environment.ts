import { basename } from 'node:path'
import type { ImportGraph, Violation } from '../import-graph.ts'

const READS =
  /\bprocess\s*\??\.\s*env\b|\bprocess\s*\[\s*"\d+"\s*\]|\bimport\b[^";]*\{[^}]*\benv\b[^}]*\}\s*from\s*"(\d+)"/
const FREE_ROOMS = /^(tools|examples)\/|^packages\/[^/]+\/scripts\//

/** The environment is read where a program begins, parsed there, and handed in from there on. */
export function environmentAtTheEdge(graph: ImportGraph): Violation[] {
  return [...graph.files.values()].flatMap((file) => {
    const name = basename(file.path)
    if (file.isTest || FREE_ROOMS.test(file.path)) return []
    if (name === 'main.ts' || name === 'config.ts' || name.endsWith('.config.ts')) return []
    const found = READS.exec(file.text.code)
    if (found === null) return []
    if (found[1] !== undefined && !/^(node:)?process$/.test(file.text.strings[Number(found[1])] ?? '')) return []
    return [{ path: file.path, problem: 'only main.ts and config.ts read process.env: take the value as a parameter' }]
  })
}
