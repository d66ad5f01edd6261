import type { Meter } from '../metrics/meter.ts'
import type { AgentRef } from '../protocol/agent.ts'
import type { Foothold, TaskHandle } from '../protocol/foothold.ts'
import type { ScheduleOptions } from '../protocol/schedules.ts'
import type { TaskId } from '../protocol/task-context.ts'
import type { Database } from '../store/database.ts'
import { readLifelineSwitch } from '../store/lifeline.ts'
import { readLimits } from '../store/limits.ts'
import type { Notifier } from '../store/notify.ts'
import { readPauses } from '../store/pauses.ts'
import { readAgentNames, readTask, readWorkers } from '../store/read-tasks.ts'
import { readSchedules, removeSchedule } from '../store/schedules.ts'
import { approve, listApprovals } from './approvals.ts'
import { createHandle, createResultHub } from './handle.ts'
import { endLimit, setLimit } from './limits.ts'
import { parseTaskId } from './new-id.ts'
import { pause, unpause } from './pauses.ts'
import { listTasks, requireReady } from './read.ts'
import { pauseSchedule, setSchedule, unpauseSchedule } from './schedules.ts'
import { sendSignal } from './send-signal.ts'
import { cancelTask, decideEffect, restartTask, resumeTask } from './steer.ts'
import { submitTask } from './submit.ts'
import { switchLifeline } from './switch-lifeline.ts'
import { createWatchHub } from './watch.ts'
import { whyTask } from './why.ts'

export interface ClientDependencies {
  readonly db: Database
  readonly notifier: Notifier
  readonly meter: Meter
}

/** What an application calls; `connect()` adds the worker and the end. */
export interface Client extends Omit<Foothold, 'worker' | 'close' | 'prune' | 'metrics' | 'exposition'> {
  /** Everyone who waits for a result or watches gets CLOSED. */
  stopWatching(): void
}

export function createClient(dependencies: ClientDependencies): Client {
  const { db } = dependencies
  const results = createResultHub(db)
  const watches = createWatchHub(db)
  const handles = { ...dependencies, results, watches }

  const submit = async (agent: AgentRef | string, input: unknown, options = {}): Promise<TaskHandle<unknown>> =>
    createHandle(handles, await submitTask(dependencies, agent, input, options))
  const handle = (id: TaskId): TaskHandle<unknown> =>
    createHandle(handles, { id: parseTaskId(id) ?? id, created: false })

  return {
    // The handle reads what the agent's code wrote: its type is the agent's, by name only.
    submit: submit as Client['submit'],
    handle: handle as Client['handle'],
    sendSignal: (id, signal, payload, options = {}) => sendSignal(dependencies, id, signal as never, payload, options),
    cancel: (id, options = {}) => cancelTask(dependencies, id, options),
    resume: (id) => resumeTask(dependencies, id),
    restart: (id, options) => restartTask(dependencies, id, options),
    approve: (id, key, answer) => approve(dependencies, id, key, answer),
    approvals: (options = {}) => listApprovals(db, options),
    decide: (id, key, decision) => decideEffect(dependencies, id, key, decision),
    pause: (target, options = {}) => pause(db, target, options),
    unpause: (target) => unpause(db, target),
    pauses: () => readPauses(db),
    switchLifeline: (to, options = {}) => switchLifeline(db, to, options),
    lifelineSwitch: () => readLifelineSwitch(db),
    schedule: (name: string, options: unknown) => setSchedule(db, name, options as ScheduleOptions),
    schedules: () => readSchedules(db),
    pauseSchedule: (name) => pauseSchedule(db, name),
    unpauseSchedule: (name) => unpauseSchedule(db, name),
    removeSchedule: async (name) => ({ wasThere: await removeSchedule(db, name) }),
    setLimit: (target, options) => setLimit(db, target, options),
    removeLimit: (target) => endLimit(db, target),
    limits: () => readLimits(db),
    tasks: (filter = {}) => listTasks(db, filter),
    async task(taskId) {
      const id = parseTaskId(taskId)
      return id === null ? null : readTask(db, id)
    },
    why: (taskId) => whyTask(db, taskId),
    workers: () => readWorkers(db),
    agents: () => readAgentNames(db),
    ready: (options = {}) => requireReady(db, options),
    stopWatching() {
      results.close()
      watches.close()
    },
  }
}
