import { onTestFinished } from 'vitest'
import type { DefendedWorkerSettings } from './defended-worker.ts'
import type { FleetProcessSettings } from './fleet-process.ts'
import { forkProcess, type WorkerProcess } from './forked-process.ts'
import type { WorkerProcessSettings } from './worker-process.ts'

export type { WorkerProcess } from './forked-process.ts'

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
  const child = forkProcess(new URL(entry, import.meta.url), settings)
  onTestFinished(async () => {
    child.kill('SIGKILL')
    await child.exited
  })
  return child
}
