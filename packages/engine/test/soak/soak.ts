import { existsSync } from 'node:fs'
import { type DevPostgres, startDevPostgres } from '@foothold/dev-postgres'
import pg from 'pg'
import { connect } from '../../src/index.ts'
import { isPgBouncerInstalled, startPgBouncer } from '../pgbouncer.ts'
import { AUDIT } from './audit.ts'
import { type Crew, startCrew } from './crew.ts'
import { createFaults } from './faults.ts'
import { type Findings, readFindings } from './findings.ts'
import type { GuardName } from './guards.ts'
import { type Load, resumeDeadLetters, startLoad } from './load.ts'
import type { SoakOptions } from './options.ts'
import { type Fault, planFaults } from './plan.ts'
import { BOOKS } from './soak-agent.ts'
import { buildWorkerProgram } from './worker-program.ts'

/**
 * Real workers under a seeded schedule of faults, against a PostgreSQL of its own. Then the faults end, everything gets
 * the time to come to its end, and what is left is judged. Heartbeat and lease are shorter than the defaults; the
 * guarantees are the same, only sooner.
 */

export interface SoakResult {
  readonly findings: Findings
  readonly injected: ReturnType<typeof createFaults>['injected']
  readonly cuts: number
  readonly resumed: number
  readonly seconds: number
  /** Guards that were to be taken away and were met nowhere: a control that controls nothing. */
  readonly notMet: readonly GuardName[]
}

/** Nothing moves for so long after the last fault: what has not ended will not. */
const STILL_MS = 15_000
/** A livelock moves for ever. */
const ENDING_MAX_MS = 180_000
const TELL_MS = 10_000
const CONCURRENCY = 12

const FAKETIME = ['x86_64', 'aarch64'].map((cpu) => `/usr/lib/${cpu}-linux-gnu/faketime/libfaketimeMT.so.1`)

export async function soak(
  options: SoakOptions,
  { signal, log }: { readonly signal: AbortSignal; readonly log: (line: string) => void },
): Promise<SoakResult> {
  const { seed, leaseMs, without } = options
  const durationMs = options.minutes * 60_000
  const faketime = FAKETIME.find((path) => existsSync(path)) ?? null
  if (faketime === null) log('libfaketime is not installed: no clock is put wrong (apt-get install libfaketime)')
  const closing: (() => Promise<unknown>)[] = []
  try {
    const program = await buildWorkerProgram()
    closing.push(async () => program.remove())
    const [server, books] = await Promise.all([
      startDevPostgres({ purpose: 'test' }),
      startDevPostgres({ purpose: 'test' }),
    ])
    closing.push(() => Promise.allSettled([server.stop(), books.stop()]))
    const engine = new pg.Pool({ connectionString: server.url, max: 2, query_timeout: 30_000 })
    engine.on('error', () => undefined)
    const ledger = new pg.Pool({ connectionString: books.url, max: 2 })
    ledger.on('error', () => undefined)
    closing.push(() => Promise.allSettled([engine.end(), ledger.end()]))
    await prepare(server, { engine, ledger, without })

    if (options.isPooled && !isPgBouncerInstalled())
      throw new RangeError('--pgbouncer: there is none (apt-get install pgbouncer)')
    const pooler = options.isPooled ? await startPgBouncer(server.url) : null
    if (pooler !== null) closing.push(() => pooler.stop())
    const crew = await startCrew({
      count: options.workers,
      program: program.entry,
      faketime,
      settings: {
        url: pooler?.url ?? server.url,
        booksUrl: books.url,
        concurrency: CONCURRENCY,
        heartbeatMs: leaseMs / 4,
        leaseMs,
        without,
      },
    })
    closing.push(() => crew.end())
    await crew.settle()
    const load = await startLoad({ url: server.url, booksUrl: books.url, perSecond: options.perSecond, seed })
    closing.push(() => load.end())
    const faults = createFaults({ server, crew, log })
    closing.push(() => faults.calm())

    const plan = planFaults({ seed, durationMs, slots: options.workers, leaseMs, kinds: options.kinds })
    log(
      `seed ${seed}: ${plan.length} faults in ${options.minutes} min on ${options.workers} workers, lease ${leaseMs} ms`,
    )
    const startedAt = performance.now()
    await carryOut(
      plan.filter(({ kind }) => kind !== 'clock off' || faketime !== null),
      { durationMs, signal, inject: (fault) => faults.inject(fault), log, load },
    )
    const seconds = (performance.now() - startedAt) / 1_000
    await load.stop()
    await faults.over()
    log('the faults are over; waiting for the ends')
    const resumed = await comeToRest(server, { engine, signal, log })
    const accepted = load.accepted
    const findings = await readFindings({ engine, books: ledger, accepted, injected: faults.injected })
    return {
      findings,
      injected: faults.injected,
      cuts: cutsOf(crew),
      resumed,
      seconds,
      notMet: without.filter((name) => name !== 'commit' && !crew.cut.has(name)),
    }
  } finally {
    for (const close of closing.reverse()) await close()
  }
}

async function prepare(
  server: DevPostgres,
  { engine, ledger, without }: { engine: pg.Pool; ledger: pg.Pool; without: readonly GuardName[] },
): Promise<void> {
  const foothold = await connect(server.url, { logger: 'silent' })
  await foothold.close()
  await engine.query(AUDIT)
  await ledger.query(BOOKS)
  if (!without.includes('commit')) return
  await engine.query('alter system set synchronous_commit = off')
  // As far behind as a server may be told to be.
  await engine.query(`alter system set wal_writer_delay = '10s'`)
  await engine.query(`alter system set wal_writer_flush_after = '2GB'`)
  await engine.query('select pg_reload_conf()')
}

async function carryOut(
  plan: readonly Fault[],
  run: {
    readonly durationMs: number
    readonly signal: AbortSignal
    readonly inject: (fault: Fault) => void
    readonly log: (line: string) => void
    readonly load: Load
  },
): Promise<void> {
  const startedAt = performance.now()
  const until = async (atMs: number): Promise<void> => {
    const leftMs = startedAt + atMs - performance.now()
    if (leftMs > 0) await passed(leftMs, run.signal)
    run.signal.throwIfAborted()
  }
  let toldAtMs = 0
  for (const fault of plan) {
    await until(fault.atMs)
    run.inject(fault)
    if (fault.atMs - toldAtMs < 30_000) continue
    toldAtMs = fault.atMs
    run.log(`${Math.round(fault.atMs / 1_000)} s: ${run.load.accepted.size} accepted`)
  }
  await until(run.durationMs)
}

/** Until everything has ended, or nothing moves any more. Gives how many dead letters were resumed. */
async function comeToRest(
  server: DevPostgres,
  {
    engine,
    signal,
    log,
  }: { readonly engine: pg.Pool; readonly signal: AbortSignal; readonly log: (line: string) => void },
): Promise<number> {
  const foothold = await connect(server.url, { migrate: false, logger: 'silent' })
  const givesUpAt = performance.now() + ENDING_MAX_MS
  let resumed = 0
  let told = performance.now()
  let last = { moves: '', at: performance.now() }
  try {
    for (;;) {
      signal.throwIfAborted()
      resumed += await resumeDeadLetters(foothold, engine)
      const { rows } = await engine.query<{ open: number; moves: string }>(
        `select (select count(*)::int from foothold.tasks where status <> 'completed') as open,
                coalesce((select max(id) from soak.moves), 0)::text as moves`,
      )
      const [{ open, moves } = { open: 0, moves: '' }] = rows
      if (open === 0) return resumed
      if (moves !== last.moves) last = { moves, at: performance.now() }
      const now = performance.now()
      if (now - told > TELL_MS) {
        told = now
        log(`${open} have not ended`)
      }
      if (now - last.at > STILL_MS || now > givesUpAt) return resumed
      await passed(200, signal)
    }
  } finally {
    await foothold.close()
  }
}

function cutsOf(crew: Crew): number {
  return crew.slots.reduce((sum, { proxy }) => sum + proxy.cuts, 0)
}

function passed(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer)
      signal.removeEventListener('abort', done)
      resolve()
    }
    const timer = setTimeout(done, ms)
    signal.addEventListener('abort', done, { once: true })
  })
}
