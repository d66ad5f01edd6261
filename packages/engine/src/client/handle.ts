import { FootholdError } from '../protocol/errors.ts'
import type { TaskHandle } from '../protocol/foothold.ts'
import type { TaskId } from '../protocol/task-context.ts'
import type { TaskState, TaskStatus } from '../protocol/views.ts'
import type { Database } from '../store/database.ts'
import type { Notifier } from '../store/notify.ts'
import { readState, readStatuses } from '../store/read-tasks.ts'
import { checkOptionNames, checkWholeNumber } from './arguments.ts'
import { createLookHub, type LookHub } from './look-hub.ts'
import { parseTaskId } from './new-id.ts'
import { cancelTask } from './steer.ts'
import type { Submitted } from './submit.ts'
import { type WatchHub, watchTask } from './watch.ts'
import { isTerminal } from './watch-events.ts'

/** Quick tasks are answered quickly; who waits for minutes does not mind half a second. */
const FIRST_LOOK_MS = 25
const LOOK_MS_MAX = 500

export type ResultHub = LookHub<TaskId, TaskStatus | null>

export function createResultHub(db: Database): ResultHub {
  return createLookHub(async (ids, signal) => {
    const statuses = await readStatuses(db, [...new Set(ids)], {
      doing: 'waiting for results',
      patienceMs: Number.POSITIVE_INFINITY,
      signal,
    })
    return ids.map((id) => statuses.get(id) ?? null)
  })
}

export interface HandleDependencies {
  readonly db: Database
  readonly notifier: Notifier
  readonly results: ResultHub
  readonly watches: WatchHub
}

export function createHandle(
  { db, notifier, results, watches }: HandleDependencies,
  { id, created }: Submitted,
): TaskHandle<unknown> {
  return {
    id,
    created,
    state: () => stateOf(db, id),
    result: (options = {}) => waitForResult({ db, results }, id, options),
    watch: (options = {}) => watchTask({ db, hub: watches }, id, options),
    cancel: (options = {}) => cancelTask({ db, notifier }, id, options),
  }
}

async function stateOf(db: Database, taskId: string): Promise<TaskState<unknown>> {
  const id = parseTaskId(taskId)
  const state = id === null ? null : await readState(db, id)
  if (state === null) throw new FootholdError('TASK_NOT_FOUND', { taskId })
  return state
}

type ResultOptions = NonNullable<Parameters<TaskHandle<unknown>['result']>[0]>

async function waitForResult(
  { db, results }: Pick<HandleDependencies, 'db' | 'results'>,
  taskId: string,
  options: ResultOptions,
): Promise<unknown> {
  checkOptionNames('options', options, ['timeoutMs', 'signal'])
  const { timeoutMs, signal } = options
  if (timeoutMs !== undefined) checkWholeNumber('options.timeoutMs', timeoutMs, { min: 0, max: 2 ** 31 - 1 })
  const id = parseTaskId(taskId)
  if (id === null) throw new FootholdError('TASK_NOT_FOUND', { taskId })
  const limit = timeLimit(id, timeoutMs, signal)
  try {
    for (let inMs = 0; ; inMs = Math.min(LOOK_MS_MAX, Math.max(FIRST_LOOK_MS, inMs * 1.5))) {
      const status = await results.ask(id, inMs, limit.signal)
      if (status === null) throw new FootholdError('TASK_NOT_FOUND', { taskId })
      if (!isTerminal(status)) continue
      const state = await stateOf(db, id)
      switch (state.status) {
        case 'completed':
          return state.output
        case 'cancelled':
          throw new FootholdError('TASK_CANCELLED', { taskId, reason: state.reason })
        case 'dead_letter':
          throw new FootholdError('TASK_DEAD_LETTER', { taskId, reason: state.reason, message: state.error.message })
        case 'pending':
        case 'processing':
        case 'waiting':
          // Someone resumed or restarted it between the two looks.
          continue
      }
    }
  } finally {
    limit.end()
  }
}

/** One signal for the caller's and the time limit's; AbortSignal.any would stay listening to a long-lived signal. */
function timeLimit(
  taskId: TaskId,
  timeoutMs: number | undefined,
  outer: AbortSignal | undefined,
): { readonly signal: AbortSignal; end(): void } {
  const controller = new AbortController()
  const aborted = (): void => controller.abort(outer?.reason)
  if (outer?.aborted === true) aborted()
  outer?.addEventListener('abort', aborted, { once: true })
  const timer =
    timeoutMs === undefined
      ? undefined
      : setTimeout(() => controller.abort(new FootholdError('RESULT_TIMEOUT', { taskId, timeoutMs })), timeoutMs)
  return {
    signal: controller.signal,
    end() {
      clearTimeout(timer)
      outer?.removeEventListener('abort', aborted)
    },
  }
}
