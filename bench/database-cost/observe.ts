import { readdirSync, readFileSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import type pg from 'pg'

/** What a database server was asked for while somebody watched. */
export interface Cost {
  /** Highest number of other sessions seen. */
  readonly connections: number
  readonly transactionsPerSecond: number
  readonly walKilobytesPerSecond: number
  /** Of one core, all server processes together. */
  readonly cpuPercent: number
}

const LOOK_MS = 500
/** Linux counts processor time in hundredths of a second. */
const TICKS_PER_SECOND = 100

/** Its own share (one session, two transactions a second) is taken off. */
export async function observe(client: pg.Client, serverPid: number, seconds: number): Promise<Cost> {
  const before = await read(client, serverPid)
  let connections = 0
  let looks = 0
  while (performance.now() - before.atMs < seconds * 1_000) {
    connections = Math.max(connections, await othersConnected(client))
    looks += 1
    await pause(LOOK_MS)
  }
  const after = await read(client, serverPid)
  const elapsed = (after.atMs - before.atMs) / 1_000
  return {
    connections,
    // Counts come up to a second late, so that an idle server can seem to have done less than nothing.
    transactionsPerSecond: Math.max(0, after.transactions - before.transactions - looks - 1) / elapsed,
    walKilobytesPerSecond: (after.walBytes - before.walBytes) / 1_000 / elapsed,
    cpuPercent: ((after.cpuTicks - before.cpuTicks) / TICKS_PER_SECOND / elapsed) * 100,
  }
}

async function read(client: pg.Client, serverPid: number) {
  // Sessions report their counts when they are idle, at most once a second.
  await client.query('select pg_stat_clear_snapshot()')
  const { rows } = await client.query<{ transactions: number; walBytes: number }>(
    `select (xact_commit + xact_rollback)::float8 as transactions,
            pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::float8 as "walBytes"
     from pg_stat_database where datname = current_database()`,
  )
  const row = rows[0]
  if (row === undefined) throw new Error('pg_stat_database has no row of the current database')
  return { ...row, cpuTicks: cpuTicks(serverPid), atMs: performance.now() }
}

async function othersConnected(client: pg.Client): Promise<number> {
  const { rows } = await client.query<{ count: number }>(
    `select count(*)::int as count from pg_stat_activity
     where backend_type = 'client backend' and datname = current_database() and pid <> pg_backend_pid()`,
  )
  return rows[0]?.count ?? 0
}

/** The postmaster and its children; those that ended are counted in their parent. */
function cpuTicks(serverPid: number): number {
  let ticks = 0
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue
    const fields = statOf(name)
    if (fields === null) continue
    const [, parent] = fields
    if (Number(name) !== serverPid && Number(parent) !== serverPid) continue
    const [user, system, waitedUser, waitedSystem] = fields.slice(11, 15).map(Number) as [
      number,
      number,
      number,
      number,
    ]
    ticks += user + system + (Number(name) === serverPid ? waitedUser + waitedSystem : 0)
  }
  return ticks
}

/** Fields from the state on: a name in parentheses, which may hold blanks, comes before. */
function statOf(pid: string): readonly string[] | null {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8')
    return text.slice(text.lastIndexOf(')') + 2).split(' ')
  } catch {
    return null
  }
}
