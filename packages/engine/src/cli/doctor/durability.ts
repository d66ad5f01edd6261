import type { ServerFacts } from '../../store/doctor.ts'
import { type Check, error, ok, warning } from './check.ts'

const NAME = 'durability'

/**
 * What an acknowledgement is worth on this server. Everything the protocol promises holds at this class and no better:
 * a stored step that a crash takes back is a step that runs again.
 */
export function durabilityCheck(server: ServerFacts): Check {
  const { fsync, synchronousCommit, synchronousStandbyNames, synchronousStandbys } = server
  if (fsync === 'off') {
    return error(
      NAME,
      "none: fsync is off, a crash of the server's machine may lose or corrupt everything",
      'Set fsync = on, except where losing the database does not matter.',
    )
  }
  if (synchronousCommit === 'off') {
    return error(
      NAME,
      'less than a disk: synchronous_commit is off, a crash may take back what was acknowledged in the last moments',
      'Set synchronous_commit = on for the role of the workers.',
    )
  }
  if (synchronousStandbyNames === '') {
    return ok(
      NAME,
      `one disk: what was acknowledged survives a crash of PostgreSQL and of its machine, not the loss of its disk (synchronous_commit ${synchronousCommit}, no synchronous standby)`,
    )
  }
  if (synchronousCommit === 'local') {
    return warning(
      NAME,
      'one disk: synchronous standbys are named, but synchronous_commit is local and waits for none; a failover may take back what was acknowledged',
      'Set synchronous_commit = on for the role of the workers.',
    )
  }
  if (synchronousStandbys === 0) {
    return error(
      NAME,
      `synchronous standbys are named (${synchronousStandbyNames}), but none is connected: commits wait until one is`,
      'Bring a standby back, or take its name out of synchronous_standby_names.',
    )
  }
  return ok(NAME, `${STANDBY[synchronousCommit] ?? STANDBY['on']} (synchronous_commit ${synchronousCommit})`)
}

const STANDBY: Readonly<Record<string, string>> = {
  remote_write:
    'a disk and the memory of a standby: what was acknowledged survives the loss of one machine, not of both at once',
  on: 'the disks of two machines: what was acknowledged survives the loss of either',
  remote_apply: 'the disks of two machines, and readable on both: what was acknowledged survives the loss of either',
}

/** A page that was half written when the power went cannot be repaired without its copy in the log. */
export function fullPageWritesCheck({ fullPageWrites }: ServerFacts): Check {
  if (fullPageWrites === 'on') return ok('full page writes', 'on')
  return warning(
    'full page writes',
    'off: a power cut may leave half-written pages behind',
    'Set full_page_writes = on unless the file system writes pages whole (ZFS does).',
  )
}
