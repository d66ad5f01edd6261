import { type ChildProcess, spawn } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { connect } from '../../foothold.ts'
import { agentsOfModule } from '../agents-of-module.ts'
import type { Command, Context } from '../command.ts'
import { openReached } from '../connection.ts'
import { unlessStopped } from '../exit-codes.ts'
import { optionalPackage } from '../optional-package.ts'
import { SERVER_PORT, serverPackage } from '../server-package.ts'
import { untilStopped } from '../until-stopped.ts'
import { wholeNumber } from '../whole-number.ts'

/** The part of @foothold/dev-postgres that is used here. */
interface DevPostgresPackage {
  readonly startDevPostgres: (options: { readonly dataDir: string; readonly log: (line: string) => void }) => Promise<{
    readonly url: string
    readonly port: number
    readonly stop: () => Promise<void>
  }>
}

/** A worker's grace and its last writes. */
const WORKER_STOP_MS = 12_000

export const dev: Command = {
  name: 'dev',
  summary: 'Run a module of agents with a PostgreSQL and the page, and again at every change',
  details: `For one person's machine. Without --url or DATABASE_URL it starts a PostgreSQL whose data stay in
.foothold/postgres. The worker hands over and starts again when a file it has loaded changes; tasks go on. Needs the
packages @foothold/server and, without a database of your own, @foothold/dev-postgres.`,
  arguments: [{ name: 'module', about: 'what exports the agents' }],
  options: {
    port: { value: '<n>', about: `of the page, ${SERVER_PORT} by default; 0 is any free one` },
    concurrency: { value: '<n>', about: 'tasks at once, 20 by default' },
    shake: { about: 'begin each task again after each of its steps, and tell what differs' },
  },
  handlesStop: true,
  async run({ arguments: [module = ''], values, flags, command }, { out, cwd, env, url: givenUrl, stop }) {
    const port = wholeNumber('--port', values['port'], { min: 0, max: 65_535, command }) ?? SERVER_PORT
    wholeNumber('--concurrency', values['concurrency'], { min: 1, max: 100_000, command })
    const { serve } = await serverPackage({ cwd, command })
    // Told at once rather than by the worker's process; there the module is loaded anew at every change.
    await unlessStopped(agentsOfModule(module, cwd), stop)
    const closing: (() => Promise<unknown>)[] = []
    try {
      const database = await openDatabase({ cwd, out, url: givenUrl }, command)
      closing.push(database.close)
      const foothold = await unlessStopped(connect(database.url, { signal: stop }), stop)
      closing.push(() => foothold.close())
      const listening = await serve({ foothold, port, token: env['FOOTHOLD_TOKEN'] || undefined })
      closing.push(() => listening.close())
      const isShaken = flags.has('shake')
      const worker = startWorker(module, { url: database.url, concurrency: values['concurrency'], isShaken, cwd, env })
      closing.push(() => stopWorker(worker))
      out.note(
        [
          `PostgreSQL  ${database.shown}`,
          `page, API   ${listening.url}/`,
          `worker      ${module}, again at every change${isShaken ? ', each task shaken' : ''}`,
          `submit      curl ${listening.url}/v1/tasks -H 'content-type: application/json' -d '{"agent":"…","input":{}}'`,
          'Ctrl-C stops all of it.',
        ].join('\n'),
      )
      await untilStopped(stop)
      return 0
    } finally {
      for (const close of closing.reverse()) await close()
    }
  },
}

interface DevDatabase {
  readonly url: string
  readonly shown: string
  readonly close: () => Promise<void>
}

async function openDatabase(
  { cwd, out, url }: Pick<Context, 'cwd' | 'out' | 'url'>,
  command: string,
): Promise<DevDatabase> {
  if (url !== undefined && url !== '') {
    await (await openReached(url)).close()
    return { url, shown: 'your own (--url or DATABASE_URL)', close: async () => undefined }
  }
  const name = '@foothold/dev-postgres'
  const { startDevPostgres } = await optionalPackage<DevPostgresPackage>(name, { cwd, command })
  out.note('starting PostgreSQL (the first time takes a few seconds)')
  const dataDir = join(cwd, '.foothold', 'postgres')
  const server = await startDevPostgres({ dataDir, log: (line) => out.note(line) })
  return { url: server.url, shown: `127.0.0.1:${server.port}, data kept in ${dataDir}`, close: () => server.stop() }
}

interface WorkerPlace {
  readonly url: string
  readonly concurrency: string | undefined
  readonly isShaken: boolean
  readonly cwd: string
  readonly env: NodeJS.ProcessEnv
}

/** `foothold worker` under Node's own watch: SIGTERM and a new process at a change of any file that was loaded. */
function startWorker(module: string, { url, concurrency, isShaken, cwd, env }: WorkerPlace): ChildProcess {
  const main = fileURLToPath(new URL(import.meta.url.endsWith('.ts') ? '../main.ts' : '../main.js', import.meta.url))
  const options = [
    ...(concurrency === undefined ? [] : ['--concurrency', concurrency]),
    ...(isShaken ? ['--shake'] : []),
  ]
  const args = ['worker', module, ...options]
  return spawn(process.execPath, [...process.execArgv, '--watch', '--watch-preserve-output', main, ...args], {
    cwd,
    // The address may hold a password, which a command line would show to everybody on the machine.
    env: { ...env, DATABASE_URL: url },
    stdio: ['ignore', 'inherit', 'inherit'],
  })
}

async function stopWorker(worker: ChildProcess): Promise<void> {
  if (worker.exitCode !== null || worker.signalCode !== null) return
  const gone = new Promise<void>((resolve) => {
    worker.once('exit', () => resolve())
  })
  worker.kill('SIGTERM')
  const limit = setTimeout(() => worker.kill('SIGKILL'), WORKER_STOP_MS)
  await gone
  clearTimeout(limit)
}
