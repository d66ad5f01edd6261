import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdtempSync, readFileSync, realpathSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { type DevPostgres, type DevPostgresOptions, startDevPostgres } from '@foothold/dev-postgres'
import pg from 'pg'
import { afterAll, onTestFinished } from 'vitest'

export const isRoot: boolean = process.getuid?.() === 0
export const NOBODY = 65_534

/** A folder of the test's own that any account can pass through, gone afterwards. */
export function makeFolder(mode = 0o755): string {
  const folder = mkdtempSync(join(tmpdir(), 'dev-postgres-'))
  chmodSync(folder, mode)
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

let finished: Promise<string> | undefined

/**
 * A data folder that an earlier run left, stopped. Only the first call of a test file pays for making one; the others
 * get a copy, as a machine under load takes ten seconds for each new one.
 */
export async function makeEarlierData(): Promise<string> {
  finished ??= makeOnce()
  const dataDir = join(makeFolder(), 'postgres')
  execFileSync('cp', ['-a', await finished, dataDir])
  return dataDir
}

afterAll(async () => {
  if (finished !== undefined) rmSync(dirname(await finished), { recursive: true, force: true })
})

async function makeOnce(): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'dev-postgres-'))
  chmodSync(folder, 0o755)
  const server = await startDevPostgres({ dataDir: join(folder, 'postgres') })
  await server.stop()
  return server.dataDir
}

export interface Run {
  readonly server: DevPostgres
  readonly said: readonly string[]
}

/** Starts in this process; ended with the test, whatever the test did to it. */
export async function start(options: DevPostgresOptions): Promise<Run> {
  const said: string[] = []
  const server = await startDevPostgres({ ...options, log: (line) => said.push(line) })
  onTestFinished(async () => {
    await server.stop({ mode: 'immediate' })
    await server.stop()
  })
  return { server, said }
}

export async function query<Row extends pg.QueryResultRow>(url: string, text: string): Promise<Row[]> {
  const client = new pg.Client({ connectionString: url })
  // A server that is killed in the middle is some tests' point.
  client.on('error', () => {})
  await client.connect()
  try {
    return (await client.query<Row>(text)).rows
  } finally {
    await client.end()
  }
}

export interface Program {
  readonly process: ChildProcess
  readonly url: string
  /** Of PostgreSQL. */
  readonly pid: number
  readonly dataDir: string
  readonly uid: number
  finish(): Promise<void>
}

/**
 * Whether root's tests can run a program as another account here: that account must reach this Node and this checkout.
 * Below a closed folder (mode 0700) it cannot, and those tests say that they were skipped.
 */
export const canActAsNobody: boolean = actsAsNobody()

function actsAsNobody(): boolean {
  const program = fileURLToPath(new URL('./program.ts', import.meta.url))
  return process.getuid?.() === 0 && [process.execPath, program].every((path) => isOpenToAll(realpathSync(path)))
}

function isOpenToAll(path: string): boolean {
  if ((statSync(path).mode & 0o004) === 0) return false
  for (let folder = dirname(path); ; folder = dirname(folder)) {
    if ((statSync(folder).mode & 0o001) === 0) return false
    if (folder === dirname(folder)) return true
  }
}

/** Starts in a process of its own, which a test can kill; as another account when root runs the tests. */
export async function startProgram(options: DevPostgresOptions, uid?: number): Promise<Program> {
  const child = launchProgram(options, uid)
  let complaints = ''
  child.stderr?.on('data', (chunk) => {
    complaints += String(chunk)
  })
  const line = await new Promise<string>((resolve, reject) => {
    if (child.stdout !== null) createInterface({ input: child.stdout }).once('line', resolve)
    child.once('exit', () => reject(new Error(complaints)))
  })
  const finish = async () => {
    const ended = once(child, 'exit')
    child.stdin?.write('stop\n')
    await ended
  }
  return { process: child, ...(JSON.parse(line) as Omit<Program, 'process' | 'finish'>), finish }
}

export function launchProgram(options: DevPostgresOptions, uid?: number): ChildProcess {
  const script = fileURLToPath(new URL('./program.ts', import.meta.url))
  const child = spawn(
    process.execPath,
    ['--conditions=@foothold/source', '--import', 'tsx', script, JSON.stringify(options)],
    { ...(uid === undefined ? {} : { uid, gid: uid }), stdio: 'pipe' },
  )
  onTestFinished(() => void child.kill('SIGKILL'))
  return child
}

export function processGroupOf(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[2])
}
