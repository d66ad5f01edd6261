import { duration } from '../../protocol/explain/durations.ts'
import type { ClockSample, ServerFacts } from '../../store/doctor.ts'
import { type Check, error, ok, warning } from './check.ts'
import { durabilityCheck, fullPageWritesCheck } from './durability.ts'

const VERSION_MIN = 14
const VERSION_MAX = 18
const CONNECTIONS_WARNING = 0.8
const CONNECTIONS_ERROR = 0.95
/** Longer, and dead rows of busy tables pile up faster than they are cleared. */
const SNAPSHOT_SECONDS_MAX = 600
/** Stored times are the database's; past this, logs of this machine are hard to lay beside them. */
const CLOCK_OFFSET_MS_MAX = 2_000

export function serverChecks(server: ServerFacts): Check[] {
  return [
    versionCheck(server),
    recoveryCheck(server),
    durabilityCheck(server),
    fullPageWritesCheck(server),
    connectionsCheck(server),
    snapshotCheck(server),
  ]
}

function versionCheck({ versionNumber, version }: ServerFacts): Check {
  const major = Math.floor(versionNumber / 10_000)
  const known = `${VERSION_MIN} to ${VERSION_MAX} are supported`
  if (major < VERSION_MIN) return error('server', `PostgreSQL ${version}; ${known}`, 'Upgrade the server.')
  if (major > VERSION_MAX) return warning('server', `PostgreSQL ${version} is newer than this library knows; ${known}`)
  return ok('server', `PostgreSQL ${version}`)
}

function recoveryCheck({ isInRecovery, isReadOnly }: ServerFacts): Check {
  if (isInRecovery) {
    return error('writable', 'no: this is a standby in recovery', 'Point --url or DATABASE_URL at the primary.')
  }
  if (isReadOnly) {
    return error(
      'writable',
      'no: transactions are read-only here',
      'Unset default_transaction_read_only for this role or database.',
    )
  }
  return ok('writable', 'yes')
}

function connectionsCheck({ connectionsUsed, connectionsMax }: ServerFacts): Check {
  const text = `${connectionsUsed} of ${connectionsMax} in use`
  const cure = 'Raise max_connections, lower poolSize of connect(), or put a pooler between.'
  if (connectionsUsed >= connectionsMax * CONNECTIONS_ERROR) return error('connections', text, cure)
  if (connectionsUsed >= connectionsMax * CONNECTIONS_WARNING) return warning('connections', text, cure)
  return ok('connections', text)
}

function snapshotCheck({ oldestSnapshotSeconds, seesAll }: ServerFacts): Check {
  const whose = seesAll ? '' : ' (of the sessions this role may see; grant pg_read_all_stats for all)'
  if (oldestSnapshotSeconds === null) return ok('oldest snapshot', `nobody holds one${whose}`)
  const text = `${duration(oldestSnapshotSeconds * 1_000)} old${whose}`
  if (oldestSnapshotSeconds <= SNAPSHOT_SECONDS_MAX) return ok('oldest snapshot', text)
  return warning(
    'oldest snapshot',
    `${text}: rows that died since cannot be cleared away, and claims slow down`,
    'End the long transaction: see pg_stat_activity by xact_start, and pg_prepared_xacts.',
  )
}

export function clockCheck(samples: readonly ClockSample[]): Check {
  // The quickest answer leaves the least room for error.
  const [best] = samples.toSorted((one, other) => tripMs(one) - tripMs(other))
  if (best === undefined) return warning('clock', 'the database told no time')
  const offsetMs = best.databaseMs - (best.sentMs + best.receivedMs) / 2
  const doubtMs = Math.max(1, tripMs(best) / 2)
  const side = offsetMs < 0 ? 'behind' : 'ahead of'
  const where = Math.abs(offsetMs) <= doubtMs ? 'at one with' : `${duration(Math.abs(offsetMs))} ${side}`
  const text = `the database's is ${where} this machine's, give or take ${duration(doubtMs)}`
  if (Math.abs(offsetMs) - doubtMs <= CLOCK_OFFSET_MS_MAX) return ok('clock', text)
  return warning('clock', text, 'Synchronise both clocks (NTP). Tasks go by the database, logs by their machine.')
}

function tripMs({ sentMs, receivedMs }: ClockSample): number {
  return receivedMs - sentMs
}
