import { execFile } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import type { Account } from './account.ts'
import { type Binaries, CHILD_ENVIRONMENT } from './binaries.ts'
import { DevPostgresError } from './errors.ts'
import { inside, own } from './folders.ts'
import { readSettings, type Settings } from './settings.ts'

/** Makes the cluster and its database `foothold`. They appear complete or not at all: a killed first start leaves none. */
export async function makeData(
  home: string,
  binaries: Binaries,
  account: Account,
  password: Settings['password'],
): Promise<void> {
  removeHalfMade(home)
  // A new name each time: the initdb of a killed start may still be at work in its own.
  const partial = mkdtempSync(join(home, PARTIAL))
  own(partial, account)
  await makeCluster(partial, binaries, account, password)
  // In single-user mode, so that no client library is needed.
  const singleUser = ['--single', '-F', '-D', partial, 'postgres']
  await run(join(binaries.native, 'bin', 'postgres'), account, singleUser, CREATE_DATABASE)
  if (password !== null) await flush(partial, binaries, account)
  renameSync(partial, inside.data(home))
}

/** Once, when everything is written: each step doing it for itself takes seconds on a busy disk. */
async function flush(data: string, binaries: Binaries, account: Account): Promise<void> {
  const method = process.platform === 'linux' ? ['--sync-method=syncfs'] : []
  await run(join(binaries.native, 'bin', 'initdb'), account, ['--sync-only', `--pgdata=${data}`, ...method])
}

function removeHalfMade(home: string): void {
  for (const name of readdirSync(home).filter((entry) => entry.startsWith(PARTIAL))) {
    try {
      rmSync(join(home, name), { recursive: true, force: true })
    } catch {
      // Its initdb still writes, fails over the missing rest, and removes its own.
    }
  }
}

const PARTIAL = 'data.partial-'
const CREATE_DATABASE = 'create database foothold;\n'

/** True when there are data to go on with; refuses a folder that belongs to something else. */
export function hasData(home: string, binaries: Binaries): boolean {
  const versionFile = join(inside.data(home), 'PG_VERSION')
  if (readSettings(home) === undefined) {
    // What a killed start may leave before its first complete step.
    const strangers = readdirSync(home).filter((name) => !LEFTOVERS.test(name))
    if (strangers.length === 0) return false
    throw new DevPostgresError(
      'DATA_DIR_NOT_OURS',
      `${home} was not made by @foothold/dev-postgres: it holds ${strangers.slice(0, 3).join(', ')}. ` +
        'Cure: give another dataDir, or an empty one.',
    )
  }
  if (!existsSync(versionFile)) return false
  const major = readFileSync(versionFile, 'utf8').trim()
  if (major === binaries.major) return true
  throw new DevPostgresError(
    'DATA_DIR_OTHER_VERSION',
    `${home} was made by PostgreSQL ${major}, and this is PostgreSQL ${binaries.major}. ` +
      'Cure: dump it with the old version and load it into a new folder, or remove it to begin with empty data.',
  )
}

const LEFTOVERS =
  /^(starting\.lock|settings\.json\.new|data\.partial-.*|owner|postgres-.*|\.copying-.*|\.owner-probe-.*)$/

async function makeCluster(
  data: string,
  binaries: Binaries,
  account: Account,
  password: Settings['password'],
): Promise<void> {
  const passwordFile = `${data}.password`
  try {
    if (password !== null) {
      writeFileSync(passwordFile, password, { mode: 0o600 })
      own(passwordFile, account)
    }
    await run(join(binaries.native, 'bin', 'initdb'), account, [
      `--pgdata=${data}`,
      '--username=foothold',
      '--encoding=UTF8',
      // The builtin locale: the same order of text on every machine, and no locale package needed.
      '--locale=C',
      '--locale-provider=builtin',
      '--builtin-locale=C.UTF-8',
      '--no-sync',
      ...(password === null ? ['--auth=trust'] : ['--auth=scram-sha-256', `--pwfile=${passwordFile}`]),
    ])
  } finally {
    rmSync(passwordFile, { force: true })
  }
}

async function run(command: string, account: Account, args: string[], input = ''): Promise<void> {
  const { ended, said } = await new Promise<{ ended: boolean; said: string }>((resolve) => {
    const options = { ...account.identity, cwd: '/', env: CHILD_ENVIRONMENT, timeout: 120_000 }
    const child = execFile(command, args, options, (error, _, stderr) => {
      resolve({ ended: error === null, said: stderr.trim() || (error?.message ?? '') })
    })
    child.stdin?.on('error', () => {})
    child.stdin?.end(input)
  })
  // Single-user mode ends well even when its statement failed.
  if (ended && !/\b(ERROR|FATAL|PANIC):/.test(said)) return
  throw new DevPostgresError(
    'INIT_FAILED',
    `${basename(command)} could not prepare the data folder: ${said.slice(-2_000)}. ` +
      'Cure: look at the reason above (a full disk is the usual one); the next start begins anew.',
  )
}
