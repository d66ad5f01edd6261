import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const ROOMS = ['packages', 'apps', 'examples', 'simulators', 'tools', 'test', 'bench', 'chaos']
// `projects` holds other people's programs, which know our packages from the registry.
const SKIPPED = new Set(['node_modules', 'dist', 'coverage', 'projects'])

/** Every TypeScript source of the repository with its text, whether git knows it already or not. */
export function readSourceFiles(root: string): Map<string, string> {
  const texts = new Map<string, string>()
  for (const room of ROOMS.filter((name) => existsSync(join(root, name)))) {
    for (const path of walk(root, room)) texts.set(path, readFileSync(join(root, path), 'utf8'))
  }
  return texts
}

function* walk(root: string, folder: string): Generator<string> {
  for (const entry of readdirSync(join(root, folder), { withFileTypes: true })) {
    const path = `${folder}/${entry.name}`
    if (entry.isDirectory()) {
      if (!SKIPPED.has(entry.name) && !entry.name.startsWith('.')) yield* walk(root, path)
    } else if (/\.tsx?$/.test(entry.name) && !entry.name.endsWith('.d.ts')) yield path
  }
}
