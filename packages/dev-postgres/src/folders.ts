import { chmodSync, chownSync, existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync, statSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import type { Account } from './account.ts'

/** What is inside the folder that a caller names; PostgreSQL's own part is `data`, the rest is ours. */
export const inside = {
  data: (home: string): string => join(home, 'data'),
  settings: (home: string): string => join(home, 'settings.json'),
  log: (home: string): string => join(home, 'server.log'),
  lock: (home: string): string => join(home, 'starting.lock'),
  users: (home: string): string => join(home, 'users'),
} as const

/** One name per folder: a running server is recognised by the path in its command line. */
export function realPath(path: string): string {
  if (existsSync(path)) return realpathSync(path)
  return dirname(path) === path ? path : join(realPath(dirname(path)), basename(path))
}

/** Makes a folder that the account can pass through. Only folders made here are opened, against a strict umask. */
export function makeHome(home: string, account: Account): void {
  const first = mkdirSync(home, { recursive: true, mode: 0o755 })
  if (first === undefined) return
  const mode = account.identity.uid === undefined ? 0o700 : 0o755
  for (let at = home; ; at = dirname(at)) {
    chmodSync(at, mode)
    if (at === first) return
  }
}

/** True when every folder that exists on the way down lets the account pass. */
export function isReachable(folder: string, account: Account): boolean {
  if (account.identity.uid === undefined) return true
  for (let at = folder; ; at = dirname(at)) {
    if (existsSync(at)) {
      const { mode, uid } = statSync(at)
      if ((mode & (uid === account.identity.uid ? 0o100 : 0o001)) === 0) return false
    }
    if (at === dirname(at)) return true
  }
}

/** Gives a file or folder to the account; false when the file system refuses, or only pretends to obey. */
export function own(path: string, account: Account): boolean {
  const { uid, gid } = account.identity
  if (uid === undefined || gid === undefined) return true
  try {
    chownSync(path, uid, gid)
    return statSync(path).uid === uid
  } catch {
    return false
  }
}

export function canGiveAway(home: string, account: Account): boolean {
  let probe: string | undefined
  try {
    makeHome(home, account)
    probe = mkdtempSync(join(home, '.owner-probe-'))
    return own(probe, account)
  } catch {
    return false
  } finally {
    if (probe !== undefined) rmSync(probe, { recursive: true, force: true })
  }
}
