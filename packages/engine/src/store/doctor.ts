import pg from 'pg'
import type { Database } from './database.ts'
import { pausesOf } from './pauses.ts'

/** What `foothold doctor` reads of the server and of the tables as a whole; judging is the caller's. */

/** One statement that must be answered, whatever the schema. */
export async function reachDatabase(db: Database, patienceMs: number): Promise<void> {
  await db.run(`select 1`, [], { doing: 'connecting', patienceMs })
}

/** The time that every stored time was taken from. */
export async function readClock(db: Database): Promise<Date> {
  const rows = await db.run<{ now: Date | string }>(`select foothold.clock() as now`, [], {
    doing: 'reading the clock',
  })
  return new Date(rows[0]?.now ?? Number.NaN)
}

export interface ServerFacts {
  /** 180004 is 18.4. */
  readonly versionNumber: number
  readonly version: string
  readonly isInRecovery: boolean
  readonly isReadOnly: boolean
  readonly fsync: string
  readonly fullPageWrites: string
  readonly synchronousCommit: string
  readonly synchronousStandbyNames: string
  /** Null where the role may not see it. */
  readonly synchronousStandbys: number | null
  readonly connectionsMax: number
  readonly connectionsUsed: number
  /** Null: nobody holds one. Where `seesAll` is false, only of the role's own sessions. */
  readonly oldestSnapshotSeconds: number | null
  readonly seesAll: boolean
}

export async function readServer(db: Database): Promise<ServerFacts> {
  const rows = await db.run<ServerFacts>(
    `with me as (select pg_has_role(current_user, 'pg_read_all_stats', 'usage') as sees_all)
     select current_setting('server_version_num')::int as "versionNumber", current_setting('server_version') as version,
       pg_is_in_recovery() as "isInRecovery", current_setting('transaction_read_only') = 'on' as "isReadOnly",
       current_setting('fsync') as fsync, current_setting('full_page_writes') as "fullPageWrites",
       current_setting('synchronous_commit') as "synchronousCommit",
       current_setting('synchronous_standby_names') as "synchronousStandbyNames",
       case when me.sees_all then
         (select count(*)::int from pg_stat_replication where sync_state in ('sync', 'quorum')) end as "synchronousStandbys",
       current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int
         - coalesce(current_setting('reserved_connections', true)::int, 0) as "connectionsMax",
       (select sum(numbackends)::int from pg_stat_database) as "connectionsUsed",
       (select extract(epoch from max(age))::float8 from (
          select clock_timestamp() - xact_start as age from pg_stat_activity
          where backend_xmin is not null and pid <> pg_backend_pid() and backend_type is distinct from 'autovacuum worker'
            and coalesce(datname, current_database()) = current_database()
          union all
          select clock_timestamp() - prepared from pg_prepared_xacts where database = current_database()) held) as "oldestSnapshotSeconds",
       me.sees_all as "seesAll"
     from me`,
    [],
    { doing: 'examining the server', patienceMs: 0 },
  )
  return rows[0] as ServerFacts
}

export interface PoolerSample {
  /** The process id that the server, or a pooler in its place, gave when the session began. */
  readonly announced: number
  /** The server's process that ran each of several statements, a second connection's statements between them. */
  readonly served: readonly number[]
}

const POOLER_ROUNDS = 4
const CONNECT_TIMEOUT_MS = 5_000

/** Two connections, statement by statement in turn: behind a pooler they come from processes that change or are shared. */
export async function samplePooler(url: string): Promise<readonly [PoolerSample, PoolerSample]> {
  const sessions = [newSession(url), newSession(url)] as const
  try {
    const served: [number[], number[]] = [[], []]
    for (const session of sessions) await session.connect()
    for (let round = 0; round < POOLER_ROUNDS; round += 1) {
      served[0].push(await backendOf(sessions[0]))
      served[1].push(await backendOf(sessions[1]))
    }
    return [
      { announced: announcedBy(sessions[0]), served: served[0] },
      { announced: announcedBy(sessions[1]), served: served[1] },
    ]
  } finally {
    await Promise.all(sessions.map((session) => session.end().catch(() => {})))
  }
}

function newSession(url: string): pg.Client {
  const session = new pg.Client({
    connectionString: url,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    query_timeout: CONNECT_TIMEOUT_MS,
    application_name: 'foothold doctor',
  })
  session.on('error', () => {})
  return session
}

async function backendOf(session: pg.Client): Promise<number> {
  const answer = await session.query<{ pid: number }>('select pg_backend_pid() as pid')
  return answer.rows[0]?.pid ?? 0
}

/** In pg's client, but not in its types. */
function announcedBy(session: pg.Client): number {
  return (session as unknown as { readonly processID: number | null }).processID ?? 0
}

export interface ClockSample {
  readonly sentMs: number
  readonly databaseMs: number
  readonly receivedMs: number
}

const CLOCK_ROUNDS = 5

/** `nowMs` is this machine's clock. */
export async function sampleClock(db: Database, nowMs: () => number): Promise<readonly ClockSample[]> {
  const samples: ClockSample[] = []
  for (let round = 0; round < CLOCK_ROUNDS; round += 1) {
    const sentMs = nowMs()
    const rows = await db.run<{ ms: number }>(`select extract(epoch from clock_timestamp())::float8 * 1000 as ms`, [], {
      doing: 'comparing clocks',
      patienceMs: 0,
    })
    samples.push({ sentMs, databaseMs: rows[0]?.ms ?? Number.NaN, receivedMs: nowMs() })
  }
  return samples
}

/** How far the clock of our statements is from the server's: more than nothing only where a test has moved it. */
export async function readClockShiftSeconds(db: Database): Promise<number> {
  const rows = await db.run<{ seconds: number }>(
    `select extract(epoch from foothold.clock() - clock_timestamp())::float8 as seconds`,
    [],
    { doing: 'reading the clock of the schema', patienceMs: 0 },
  )
  return rows[0]?.seconds ?? 0
}

export interface TableSize {
  readonly name: string
  readonly bytes: number
  /** The statistics' estimates. */
  readonly rows: number
  readonly deadRows: number
}

export async function readTableSizes(db: Database): Promise<readonly TableSize[]> {
  return db.run<TableSize>(
    `select c.relname as name, pg_total_relation_size(c.oid)::float8 as bytes,
       coalesce(s.n_live_tup, 0)::float8 as rows, coalesce(s.n_dead_tup, 0)::float8 as "deadRows"
     from pg_class c join pg_namespace n on n.oid = c.relnamespace left join pg_stat_user_tables s on s.relid = c.oid
     where n.nspname = 'foothold' and c.relkind = 'r' order by bytes desc, name`,
    [],
    { doing: 'measuring the tables', patienceMs: 0 },
  )
}

export interface WorkFacts {
  /** Pending tasks whose handler no live worker has. */
  readonly unclaimed: readonly { readonly handler: string; readonly tasks: number; readonly waitingSeconds: number }[]
  readonly liveWorkers: number
  /** Active or draining by their row, but their lease is over. */
  readonly silentWorkers: readonly string[]
  readonly deadLetters: number
  readonly waitingForPerson: number
  /** Refused by changed code. */
  readonly waitingForCode: number
}

export async function readWork(db: Database): Promise<WorkFacts> {
  const rows = await db.run<WorkFacts>(
    `with live as materialized (
       select handlers from foothold.workers w where status = 'active' and lease_until > foothold.clock()
         and not exists (select 1 from foothold.pauses p where p.kind = 'release' and p.value = w.release)),
     unclaimed as (
       select t.handler, count(*)::int as tasks,
         greatest(0, extract(epoch from foothold.clock() - min(run_at)))::float8 as "waitingSeconds"
       from foothold.tasks t
       where status = 'pending' and not exists (select 1 from live where t.handler = any(live.handlers))
         and not exists (${pausesOf({ handler: 't.handler', tenant: 't.tenant' })})
       group by t.handler order by tasks desc limit 20)
     select coalesce((select json_agg(unclaimed) from unclaimed), '[]') as unclaimed,
       (select count(*)::int from live) as "liveWorkers",
       array(select id from foothold.workers
             where status in ('active', 'draining') and lease_until < foothold.clock() order by id limit 20) as "silentWorkers",
       (select count(*)::int from foothold.tasks where status = 'dead_letter') as "deadLetters",
       (select count(*)::int from foothold.tasks where status = 'waiting' and waiting_for = 'person') as "waitingForPerson",
       (select count(*)::int from foothold.tasks where status = 'waiting' and waiting_for = 'code') as "waitingForCode"`,
    [],
    { doing: 'counting what waits', patienceMs: 0 },
  )
  return rows[0] as WorkFacts
}
