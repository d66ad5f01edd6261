import {
  chmodSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Account } from './account.ts'
import { isReachable, makeHome } from './folders.ts'
import { SYSTEM_HOME } from './place.ts'
import { isAlive } from './processes.ts'
import { shutDown } from './server.ts'

const PREFIX = 'foothold-test-postgres-'

/** A new folder for one test server: `data` inside it, and `owner` with the pid of the process that wants it. */
export function makeTestHome(account: Account): string {
  const home = mkdtempSync(join(baseFor(account), PREFIX))
  if (account.identity.uid !== undefined) chmodSync(home, 0o755)
  writeFileSync(join(home, 'owner'), String(process.pid))
  return home
}

/** Ends servers whose owner died together with its watcher, as at a machine's hard reset or in a killed container. */
export async function sweepTestHomes(account: Account, log: (line: string) => void): Promise<void> {
  const base = baseFor(account)
  for (const name of readdirSync(base).filter((entry) => entry.startsWith(PREFIX))) {
    const home = join(base, name)
    try {
      if (isOwned(home)) continue
      await shutDown(home, 'immediate')
      rmSync(home, { recursive: true, force: true })
      log(`removed ${home}, left by an earlier run`)
    } catch {
      // Another user's, or being removed by its own watcher at this moment.
    }
  }
}

function isOwned(home: string): boolean {
  const file = join(home, 'owner')
  // Without the file it is one instant old.
  return !existsSync(file) || isAlive(Number(readFileSync(file, 'utf8')))
}

function baseFor(account: Account): string {
  const base = realpathSync(tmpdir())
  if (isReachable(base, account)) return base
  const elsewhere = join(SYSTEM_HOME, 'tests')
  makeHome(elsewhere, account)
  return elsewhere
}
