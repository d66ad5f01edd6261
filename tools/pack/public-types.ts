import { readFile } from 'node:fs/promises'
import { dirname, join, relative, resolve } from 'node:path'

/** The declarations that the package's entries reach, as paths in `folder`: the others describe what nobody can import. */
export async function publicTypes(folder: string, entries: readonly string[]): Promise<ReadonlySet<string>> {
  const found = new Set<string>()
  const open = entries.map((entry) => resolve(folder, entry))
  for (let path = open.pop(); path !== undefined; path = open.pop()) {
    if (found.has(path)) continue
    found.add(path)
    const text = await readFile(path, 'utf8')
    for (const [, name = ''] of text.matchAll(/(?:from|import\()\s*['"](\.[^'"]+)\.[jt]s['"]/g)) {
      open.push(join(dirname(path), `${name}.d.ts`))
    }
  }
  return new Set([...found].map((path) => relative(folder, path)))
}
