import { createHash } from 'node:crypto'
import { accessSync, constants, existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { type Account, chooseAccount } from './account.ts'
import { type Binaries, copyBinaries, createMissingLinks, tryBinaries } from './binaries.ts'
import { DevPostgresError } from './errors.ts'
import { canGiveAway, inside, isReachable, makeHome, realPath } from './folders.ts'

export interface Place {
  readonly home: string
  readonly account: Account
}

/** Where root puts what the other account cannot reach inside the project. */
export const SYSTEM_HOME = '/var/lib/foothold'

/** Decides where the data are, so that the account that runs PostgreSQL can use them, and makes that folder. */
export function choosePlace(dataDir: string, log: (line: string) => void): Place {
  const asked = realPath(resolve(dataDir))
  const account = chooseAccount(inside.data(asked))
  if (account.identity.uid === undefined) {
    makeOwnHome(asked, account)
    return { home: asked, account }
  }

  // Keyed by the path, so that each project finds its own data again.
  const elsewhere = join(SYSTEM_HOME, createHash('sha256').update(asked).digest('hex').slice(0, 16))
  const hasDataHere = existsSync(inside.data(asked))
  // Data that went elsewhere once stay there, or a changed mode somewhere above would seem to lose them.
  const hasDataElsewhere = !hasDataHere && existsSync(inside.data(elsewhere))
  if (!hasDataElsewhere && isReachable(asked, account) && canGiveAway(asked, account)) return { home: asked, account }
  if (hasDataHere) throw unreachable(asked)

  const moved = { home: elsewhere, account: chooseAccount(inside.data(elsewhere)) }
  makeHome(elsewhere, moved.account)
  log(`PostgreSQL cannot run as root, and its account cannot use ${asked}: the data are in ${elsewhere}`)
  return moved
}

function makeOwnHome(home: string, account: Account): void {
  try {
    makeHome(home, account)
    accessSync(home, constants.R_OK | constants.W_OK | constants.X_OK)
  } catch (cause) {
    throw new DevPostgresError(
      'DATA_DIR_NOT_USABLE',
      `${home} cannot be made or written to (an earlier run as root leaves it so). ` +
        'Cure: run as its owner, change the owner (chown -R), or give another dataDir.',
      { cause },
    )
  }
}

function unreachable(home: string): DevPostgresError {
  return new DevPostgresError(
    'DATA_DIR_NOT_USABLE',
    `${home} holds data, but the account they belong to cannot reach them. ` +
      'Cure: run as that account, make every folder above passable (chmod o+x), or give another dataDir.',
  )
}

/** The binaries as installed when the account can run them, else a copy that it can. */
export function placeBinaries(found: Binaries, { home, account }: Place, log: (line: string) => void): Binaries {
  try {
    createMissingLinks(found.native)
    if (tryBinaries(found, account).kind === 'runs') return found
  } catch {
    // The package's folder may be read-only; a copy can have its links.
  }
  const copied = copyBinaries(found, account.identity.uid === undefined ? home : SYSTEM_HOME)
  const trial = tryBinaries(copied, account)
  if (trial.kind === 'refused') {
    throw new DevPostgresError(
      'PLATFORM_NOT_SUPPORTED',
      `PostgreSQL ${found.release} does not run on this machine (${trial.why}). It needs glibc 2.27 or newer, ` +
        'which Alpine does not have. Cure: use a Debian image such as node:20-bookworm, or set DATABASE_URL.',
    )
  }
  log(`PostgreSQL's binaries cannot be run from ${found.native}: a copy is in ${copied.native}`)
  return copied
}
