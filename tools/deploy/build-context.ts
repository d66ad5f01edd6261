import { readdirSync } from 'node:fs'
import { join } from 'node:path'

interface Rule {
  readonly pattern: RegExp
  readonly isException: boolean
}

/** The files that a build gets to see: those of the folder that .dockerignore's rules leave, the last match deciding. */
export function contextFiles(root: string, dockerignore: string): readonly string[] {
  const rules = parse(dockerignore)
  return walk(root, '', rules)
}

function parse(text: string): readonly Rule[] {
  return text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => ({ pattern: regexOf(line.replace(/^!/, '')), isException: line.startsWith('!') }))
}

/** What matches a folder matches all below it. */
function regexOf(pattern: string): RegExp {
  const source = pattern
    .replace(/^\/|\/$/g, '')
    .replace(/[.+^${}()|[\]\\]/g, '\\$&')
    .replace(/\*\*\/|\*\*|\*|\?/g, (wild) => WILDCARDS[wild] ?? wild)
  return new RegExp(`^${source}(?:/|$)`)
}

const WILDCARDS: Readonly<Record<string, string>> = { '**/': '(?:.*/)?', '**': '.*', '*': '[^/]*', '?': '[^/]' }
/** Never part of a build, and too large to look into. */
const PRUNED = new Set(['.git', 'node_modules'])

function walk(root: string, folder: string, rules: readonly Rule[]): string[] {
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = folder === '' ? entry.name : `${folder}/${entry.name}`
    if (entry.isDirectory()) return PRUNED.has(entry.name) ? [] : walk(root, path, rules)
    return isIgnored(path, rules) ? [] : [path]
  })
}

function isIgnored(path: string, rules: readonly Rule[]): boolean {
  const last = rules.findLast(({ pattern }) => pattern.test(path))
  return last !== undefined && !last.isException
}
