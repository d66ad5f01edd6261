import { runCli } from '../../src/cli/run-cli.ts'
import type { Worker } from '../../src/index.ts'
import { setup, type World } from '../integration/world.ts'

export interface CliAnswer {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
  /** The one JSON document on stdout. */
  readonly json: () => unknown
}

export interface CliWorld extends World {
  /** `foothold …` against this world's database, in this process. */
  readonly cli: (...argv: readonly string[]) => Promise<CliAnswer>
  /** The same, with a stop signal and a look at what has been written so far. */
  readonly start: (...argv: readonly string[]) => StartedCli
  /** Drains every worker that this world has started. */
  readonly stopWorkers: () => Promise<void>
}

export interface StartedCli {
  readonly answer: Promise<CliAnswer>
  stop(signal: 'SIGINT' | 'SIGTERM'): void
  /** stdout so far. */
  written(): string
}

export async function cliWorld(): Promise<CliWorld> {
  const world = await setup()
  const env = { DATABASE_URL: world.url }
  const workers: Worker[] = []
  return {
    ...world,
    async worker(...given) {
      const worker = await world.worker(...given)
      workers.push(worker)
      return worker
    },
    async stopWorkers() {
      await Promise.all(workers.map((worker) => worker.drain({ graceMs: 0 })))
    },
    cli: (...argv) => startCli(argv, env).answer,
    start: (...argv) => startCli(argv, env),
  }
}

export function cli(argv: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<CliAnswer> {
  return startCli(argv, env).answer
}

function startCli(argv: readonly string[], env: NodeJS.ProcessEnv): StartedCli {
  const stop = new AbortController()
  let stdout = ''
  let stderr = ''
  const answer = runCli(argv, {
    env,
    stop: stop.signal,
    stdout: { write: (text) => void (stdout += text) },
    stderr: { write: (text) => void (stderr += text) },
  }).then((code) => ({ code, stdout, stderr, json: (): unknown => JSON.parse(stdout) }))
  return { answer, stop: (signal) => stop.abort(signal), written: () => stdout }
}
