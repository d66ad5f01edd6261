import { readFileSync, statSync } from 'node:fs'
import { DevPostgresError, isMissing } from './errors.ts'

/** Who PostgreSQL runs as. It refuses root, so root lends it another account. */
export interface Account {
  /** Spread into spawn's options; empty for an ordinary user, who can be nobody else. */
  readonly identity: { readonly uid?: number; readonly gid?: number }
}

export function chooseAccount(data: string): Account {
  if (process.getuid?.() !== 0) return { identity: {} }
  return { identity: ownerOf(data) ?? nobody() }
}

/** Data that an ordinary user made earlier stay that user's. */
function ownerOf(data: string): { uid: number; gid: number } | undefined {
  try {
    const { uid, gid } = statSync(data)
    return uid === 0 ? undefined : { uid, gid }
  } catch (error) {
    if (isMissing(error)) return undefined
    throw error
  }
}

/** initdb looks its own user up, so an invented number would fail there. */
function nobody(): { uid: number; gid: number } {
  const line = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .find((entry) => entry.startsWith('nobody:'))
  const [, , uid, gid] = line?.split(':') ?? []
  if (process.platform !== 'linux' || uid === undefined || gid === undefined) {
    throw new DevPostgresError(
      'ACCOUNT_MISSING',
      'PostgreSQL does not run as root, and there is no account "nobody" to lend it. ' +
        'Cure: run this as an ordinary user, or set DATABASE_URL to a PostgreSQL of your own.',
    )
  }
  return { uid: Number(uid), gid: Number(gid) }
}
