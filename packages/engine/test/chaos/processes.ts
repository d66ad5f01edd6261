import { type ChildProcess, fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { onTestFinished } from 'vitest'
import type { DefendedWorkerSettings } from './defended-worker.ts'
import type { FleetProcessSettings } from './fleet-process.ts'
import type { WorkerProcessSettings } from './worker-process.ts'

export interface WorkerProcess {
  readonly pid: number
  /** What it has told so far: log lines and the steps it began. */
  readonly told: readonly Record<string, unknown>[]
  kill(signal: NodeJS.Signals): void
  /** Resolves when it has told this. */
  tells(what: (message: Record<string, unknown>) => boolean, timeoutMs?: number): Promise<Record<string, unknown>>
  readonly exited: Promise<{ readonly code: number | null; readonly signal: NodeJS.Signals | null }>
}

/** A forked worker; ended with the test whatever happens. */
export function startWorkerProcess(settings: WorkerProcessSettings): WorkerProcess {
  return startProcess('./worker-process.ts', settings)
}

/** One that has a single line of defence. */
export function startDefendedWorker(settings: DefendedWorkerSettings): WorkerProcess {
  return startProcess('./defended-worker.ts', settings)
}

/** One of a release of its own. */
export function startFleetWorker(settings: FleetProcessSettings): WorkerProcess {
  return startProcess('./fleet-process.ts', settings)
}

function startProcess(entry: string, settings: object): WorkerProcess {
  const child = fork(fileURLToPath(new URL(entry, import.meta.url)), [JSON.stringify(settings)], {
    execArgv: ['--conditions=@foothold/source', '--import', 'tsx'],
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
  const told: Record<string, unknown>[] = []
  const listeners = new Set<() => void>()
  child.on('message', (message) => {
    told.push(message as Record<string, unknown>)
    for (const listener of listeners) listener()
  })
  const exited = new Promise<{ code: number | null; signal: NodeJS.Signals | null }>((resolve) => {
    child.once('exit', (code, signal) => resolve({ code, signal }))
  })
  onTestFinished(async () => {
    child.kill('SIGKILL')
    await exited
  })
  return {
    pid: pidOf(child),
    told,
    kill: (signal) => void child.kill(signal),
    exited,
    tells: (what, timeoutMs = 20_000) =>
      new Promise((resolve, reject) => {
        const look = (): void => {
          const message = told.find(what)
          if (message === undefined) return
          clearTimeout(timer)
          listeners.delete(look)
          resolve(message)
        }
        const timer = setTimeout(
          () => reject(new Error(`Told in ${timeoutMs} ms only: ${JSON.stringify(told)}`)),
          timeoutMs,
        )
        listeners.add(look)
        look()
      }),
  }
}

function pidOf(child: ChildProcess): number {
  if (child.pid === undefined) throw new Error('The worker process did not start.')
  return child.pid
}
