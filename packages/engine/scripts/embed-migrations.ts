import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { argv } from 'node:process'
import { fileURLToPath, pathToFileURL } from 'node:url'

/**
 * Writes store/migrations/embedded.ts from the .sql files beside it: the published package reads no file at run time, so
 * it survives any bundler. Run: `node --import tsx packages/engine/scripts/embed-migrations.ts`.
 */

const DIRECTORY = new URL('../src/store/migrations/', import.meta.url)
const FILE_NAME = /^(\d{4})-([a-z0-9-]+)\.sql$/
/** On a line of its own: processes that do not know this migration must refuse the database. */
const BREAKING = /^-- breaking$/m

export function embedMigrations(): string {
  const names = readdirSync(DIRECTORY)
    .filter((name) => name.endsWith('.sql'))
    .sort()
  const used = new Set<number>()
  const entries = names.map((name) => {
    const match = FILE_NAME.exec(name)
    if (match === null) throw new Error(`${name}: a migration is named like 0001-core.sql`)
    const version = Number(match[1])
    if (used.has(version)) throw new Error(`${name}: there is another migration ${version}; take the next number`)
    used.add(version)
    const sql = readFileSync(new URL(name, DIRECTORY), 'utf8').replaceAll('\r\n', '\n')
    return [
      '  {',
      `    version: ${version},`,
      `    name: '${match[2]}',`,
      `    breaking: ${BREAKING.test(sql)},`,
      `    sql: \`${sql.replace(/[\\`]|\$\{/g, '\\$&')}\`,`,
      '  },',
    ].join('\n')
  })
  return `/** Generated from the .sql files beside it by scripts/embed-migrations.ts. */

export interface Migration {
  readonly version: number
  readonly name: string
  /** Code that does not know it must not run on it. */
  readonly breaking: boolean
  readonly sql: string
}

export const MIGRATIONS: readonly Migration[] = [
${entries.join('\n')}
]
`
}

if (import.meta.url === pathToFileURL(argv[1] ?? '').href) {
  writeFileSync(fileURLToPath(new URL('embedded.ts', DIRECTORY)), embedMigrations())
}
