import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, openSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { Account } from './account.ts'
import { type Binaries, CHILD_ENVIRONMENT } from './binaries.ts'
import { DevPostgresError } from './errors.ts'
import { inside } from './folders.ts'
import { readPostmaster, removeStaleFile } from './postmaster-file.ts'
import { isAlive } from './processes.ts'

export type StopMode = 'fast' | 'immediate'

export interface Launch {
  readonly home: string
  readonly binaries: Binaries
  readonly account: Account
  readonly port: number
  readonly settings: Readonly<Record<string, string>>
}

const POLL_MS = 20
// Crash recovery after a kill under load replays up to a gigabyte of log.
const START_MS = 120_000
const STOP_MS = 30_000
// After kill -9 of the postmaster its children take a moment to notice, and until then they hold its shared memory.
const ORPHANS_MS = 15_000
const SIGNALS: Record<StopMode, NodeJS.Signals> = { fast: 'SIGINT', immediate: 'SIGQUIT' }

export type Started = { readonly kind: 'ready'; readonly pid: number } | { readonly kind: 'port-in-use' }
type Failed = { readonly kind: 'failed'; readonly said: string }

/** Brings the server of this folder up; one that is up already, whoever started it, is taken as it is. */
export async function launch(options: Launch): Promise<Started> {
  const giveUpAt = Date.now() + ORPHANS_MS
  for (;;) {
    const outcome = await launchOnce(options)
    if (outcome.kind !== 'failed') return outcome
    if (/could not bind|Address already in use/.test(outcome.said)) return { kind: 'port-in-use' }
    if (!/pre-existing shared memory block/.test(outcome.said) || Date.now() > giveUpAt) {
      throw new DevPostgresError(
        'START_FAILED',
        `PostgreSQL did not start on port ${options.port} with the data in ${options.home}: ${outcome.said.trim()}`,
      )
    }
    await pause(POLL_MS * 10)
  }
}

async function launchOnce(options: Launch): Promise<Started | Failed> {
  const data = inside.data(options.home)
  if (readPostmaster(data).kind === 'alive') return await untilReady(undefined, options.home)
  removeStaleFile(data)
  // Begins empty at each start: it holds the reason of this start's failure and cannot grow over the years.
  // Removed, not truncated: root may have made the last one in a folder of the user's.
  const logFile = inside.log(options.home)
  rmSync(logFile, { force: true })
  const log = openSync(logFile, 'w', 0o600)
  const child = spawn(join(options.binaries.native, 'bin', 'postgres'), argumentsOf(options), {
    ...options.account.identity,
    cwd: '/',
    env: CHILD_ENVIRONMENT,
    stdio: ['ignore', log, log],
    // A group of its own: Ctrl-C at the terminal reaches the program first, which stops its database last.
    detached: true,
  })
  closeSync(log)
  child.unref()
  return await untilReady(child, options.home)
}

function argumentsOf({ home, port, settings }: Launch): string[] {
  const all = { listen_addresses: '127.0.0.1', unix_socket_directories: '', ...settings }
  return [
    '-D',
    inside.data(home),
    '-p',
    String(port),
    ...Object.entries(all).flatMap(([name, value]) => ['-c', `${name}=${value}`]),
  ]
}

async function untilReady(child: ChildProcess | undefined, home: string): Promise<Started | Failed> {
  const said = () => readFileSync(inside.log(home), 'utf8').slice(-2_000)
  let end: string | undefined
  child?.once('error', (error) => {
    end = error.message
  })
  child?.once('exit', (code, signal) => {
    end ??= `it ended with ${signal ?? code}`
  })
  const deadline = Date.now() + START_MS
  while (end === undefined && Date.now() < deadline) {
    const found = readPostmaster(inside.data(home))
    if (found.kind === 'alive' && found.isReady) return { kind: 'ready', pid: found.pid }
    if (found.kind === 'none' && child === undefined) end = 'it ended while it was starting'
    else await pause(POLL_MS)
  }
  child?.kill('SIGQUIT')
  return { kind: 'failed', said: `${end ?? `not ready after ${START_MS / 1000} s`}: ${said()}` }
}

/** Ends the server of this folder, whoever started it; nothing to do when there is none. */
export async function shutDown(home: string, mode: StopMode): Promise<void> {
  const found = readPostmaster(inside.data(home))
  if (found.kind === 'none') return
  if (await endsAfter(found.pid, SIGNALS[mode])) return
  if (await endsAfter(found.pid, 'SIGQUIT')) return
  throw new DevPostgresError('STOP_FAILED', `PostgreSQL (pid ${found.pid}) does not end. Cure: kill -9 ${found.pid}.`)
}

async function endsAfter(pid: number, signal: NodeJS.Signals): Promise<boolean> {
  if (isAlive(pid)) process.kill(pid, signal)
  const deadline = Date.now() + STOP_MS
  while (isAlive(pid)) {
    if (Date.now() > deadline) return false
    await pause(POLL_MS)
  }
  return true
}
