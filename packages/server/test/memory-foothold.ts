import { randomUUID } from 'node:crypto'
import {
  type CancelAnswer,
  type Foothold,
  FootholdError,
  type Page,
  type SubmitOptions,
  type TaskDetail,
  type TaskEvent,
  type TaskFilter,
  type TaskHandle,
  type TaskId,
  type TaskStatus,
  type TaskSummary,
  type WatchOptions,
  type WorkerView,
} from 'foothold'

interface Stored {
  detail: TaskDetail
  /** Chunks and their supersessions; the cursor is the place in this list, from 1. */
  readonly chunks: TaskEvent[]
  readonly listeners: Set<() => void>
  version: number
}

/** The engine's interface over a map, with a hand on everything that a worker or a fault would do. */
export interface MemoryFoothold extends Foothold {
  readonly calls: { name: string; arguments: readonly unknown[] }[]
  /** Watches that have begun and not ended. */
  watching(): number
  /** Resolves once that many are. */
  untilWatching(count: number): Promise<void>
  change(id: string, fields: Partial<TaskDetail>): void
  chunk(id: string, key: string, text: string): void
  supersede(id: string, key: string): void
  end(id: string, status: TaskStatus, fields?: Partial<TaskDetail>): void
  /** Every call throws this until called with null. */
  failWith(error: Error | null): void
}

const KNOWN_AGENTS = ['support', 'mail']
const ENDED: ReadonlySet<TaskStatus> = new Set(['completed', 'cancelled', 'dead_letter'])

export function memoryFoothold(): MemoryFoothold {
  const tasks = new Map<string, Stored>()
  const dedupe = new Map<string, { id: string; input: string }>()
  const calls: MemoryFoothold['calls'] = []
  const watchWaiters = new Set<() => void>()
  let failure: Error | null = null
  let watchCount = 0

  function called(name: string, ...args: readonly unknown[]): void {
    calls.push({ name, arguments: args })
    if (failure !== null) throw failure
  }

  function stored(id: string): Stored {
    const task = tasks.get(id)
    if (task === undefined) throw new FootholdError('TASK_NOT_FOUND', { taskId: id })
    return task
  }

  function touch(task: Stored): void {
    task.version += 1
    for (const listener of task.listeners) listener()
  }

  function countWatches(change: number): void {
    watchCount += change
    for (const waiter of watchWaiters) waiter()
  }

  async function* watch(id: string, { after, signal }: WatchOptions = {}): AsyncGenerator<TaskEvent> {
    called('watch', id, after)
    const task = stored(id)
    let at = after === undefined ? 0 : Number(after)
    if (!Number.isInteger(at)) {
      throw new FootholdError('INVALID_ARGUMENT', { field: 'after', problem: `${String(after)} is not a cursor` })
    }
    let told: TaskDetail | null = null
    countWatches(+1)
    try {
      while (!signal?.aborted) {
        const seen = task.version
        const { detail } = task
        if (told !== detail) {
          const hasEnded = ENDED.has(detail.status)
          if (!hasEnded) yield statusEvent(detail)
          for (const step of detail.steps) {
            if (told?.steps.includes(step)) continue
            const { key, status, tries, attempt, error } = step
            yield { type: 'step', key, status, tries, attempt, error }
          }
          told = detail
        }
        while (at < task.chunks.length) yield task.chunks[at++] as TaskEvent
        if (seen !== task.version) continue
        if (ENDED.has(detail.status)) {
          yield statusEvent(detail)
          return
        }
        await new Promise<void>((resolve) => {
          const go = (): void => {
            task.listeners.delete(go)
            signal?.removeEventListener('abort', go)
            resolve()
          }
          task.listeners.add(go)
          signal?.addEventListener('abort', go)
        })
      }
    } finally {
      countWatches(-1)
    }
  }

  function handleOf(id: string, created: boolean): TaskHandle<never> {
    return {
      id: id as TaskId,
      created,
      state: async () => {
        called('state', id)
        const { status, lastReason, error, output } = stored(id).detail
        if (status === 'completed') return { status, output: output as never }
        if (status === 'cancelled') return { status, reason: lastReason ?? '' }
        if (status === 'dead_letter') {
          return { status, reason: lastReason ?? '', error: error ?? { code: 'X', message: '' } }
        }
        return { status }
      },
      result: () => Promise.reject(new Error('not used over HTTP')),
      watch: (options) => watch(id, options),
      cancel: (options) => cancel(id as TaskId, options),
    }
  }

  async function cancel(id: TaskId, options?: { reason?: string | undefined }): Promise<CancelAnswer> {
    called('cancel', id, options)
    const task = stored(id)
    if (task.detail.status === 'completed') return { outcome: 'already_ended', status: 'completed' }
    if (task.detail.status === 'processing') {
      task.detail = { ...task.detail, cancelRequestedAt: new Date() }
      return { outcome: 'requested', status: 'processing' }
    }
    foothold.end(id, 'cancelled', { lastReason: options?.reason ?? 'cancelled' })
    return { outcome: 'cancelled', status: 'cancelled' }
  }

  const foothold: MemoryFoothold = {
    calls,
    submit: async (agent: string | { readonly name: string }, input: unknown, options: SubmitOptions = {}) => {
      called('submit', agent, input, options)
      const name = typeof agent === 'string' ? agent : agent.name
      if (!KNOWN_AGENTS.includes(name)) throw new FootholdError('AGENT_UNKNOWN', { agent: name, known: KNOWN_AGENTS })
      const key = options.dedupeKey
      if (key !== undefined) {
        const known = dedupe.get(key)
        if (known !== undefined) {
          if (known.input !== inspectable(input)) {
            throw new FootholdError('DEDUPE_CONFLICT', { dedupeKey: key, taskId: known.id })
          }
          return handleOf(known.id, false)
        }
      }
      const detail = newDetail(name, input, options)
      tasks.set(detail.id, { detail, chunks: [], listeners: new Set(), version: 0 })
      if (key !== undefined) dedupe.set(key, { id: detail.id, input: inspectable(input) })
      return handleOf(detail.id, true)
    },
    handle: (id: TaskId) => handleOf(id, false),
    sendSignal: () => Promise.reject(new Error('not used over HTTP')),
    why: () => Promise.reject(new Error('not used over HTTP')),
    pause: () => Promise.reject(new Error('not used over HTTP')),
    unpause: () => Promise.reject(new Error('not used over HTTP')),
    pauses: async () => [],
    switchLifeline: async (to) =>
      to === 'on' ? { isOn: true } : { isOn: false, since: new Date(), reason: null, by: null },
    lifelineSwitch: async () => ({ isOn: true }),
    schedule: () => Promise.reject(new Error('not used over HTTP')),
    schedules: async () => [],
    pauseSchedule: () => Promise.reject(new Error('not used over HTTP')),
    unpauseSchedule: () => Promise.reject(new Error('not used over HTTP')),
    removeSchedule: () => Promise.reject(new Error('not used over HTTP')),
    prune: () => Promise.reject(new Error('not used over HTTP')),
    setLimit: () => Promise.reject(new Error('not used over HTTP')),
    removeLimit: () => Promise.reject(new Error('not used over HTTP')),
    limits: async () => [],
    cancel,
    resume: async (id) => {
      called('resume', id)
      const { status } = stored(id).detail
      if (status !== 'dead_letter') {
        throw new FootholdError('TASK_STATE_CONFLICT', { taskId: id, status, wanted: 'only a dead letter is resumed' })
      }
      foothold.change(id, { status: 'pending' })
    },
    restart: () => Promise.reject(new Error('not used over HTTP')),
    approve: () => Promise.reject(new Error('not used over HTTP')),
    approvals: () => Promise.reject(new Error('not used over HTTP')),
    decide: () => Promise.reject(new Error('not used over HTTP')),
    tasks: async (filter: TaskFilter = {}): Promise<Page<TaskSummary>> => {
      called('tasks', filter)
      const { status, agent, tenant, cursor = '0', limit = 50 } = filter
      const all = [...tasks.values()]
        .map(({ detail }) => detail)
        .filter((task) => (status ?? task.status) === task.status)
        .filter((task) => (agent ?? task.agent) === task.agent && (tenant ?? task.tenant) === task.tenant)
        .reverse()
      const from = Number(cursor)
      const next = from + limit
      return { items: all.slice(from, next), nextCursor: next < all.length ? String(next) : null }
    },
    task: async (id) => {
      called('task', id)
      return tasks.get(id)?.detail ?? null
    },
    workers: async () => {
      called('workers')
      return [WORKER]
    },
    agents: async () => KNOWN_AGENTS,
    ready: async (options) => called('ready', options),
    metrics: () => called('metrics'),
    exposition: async () => {
      called('exposition')
      return { contentType: 'text/plain; version=0.0.4; charset=utf-8', text: 'foothold_database_up 1\n' }
    },
    worker: () => {
      throw new Error('not used over HTTP')
    },
    close: async () => {},

    watching: () => watchCount,
    untilWatching: (count) =>
      new Promise((resolve) => {
        const look = (): void => {
          if (watchCount !== count) return
          watchWaiters.delete(look)
          resolve()
        }
        watchWaiters.add(look)
        look()
      }),
    change(id, fields) {
      const task = stored(id)
      task.detail = { ...task.detail, ...fields }
      touch(task)
    },
    chunk(id, key, text) {
      const task = stored(id)
      const cursor = String(task.chunks.length + 1)
      task.chunks.push({ type: 'chunk', key, channel: 'text', text, attempt: task.detail.attempt, cursor })
      touch(task)
    },
    supersede(id, key) {
      const task = stored(id)
      task.chunks.push({ type: 'superseded', key, cursor: String(task.chunks.length + 1) })
      touch(task)
    },
    end(id, status, fields = {}) {
      foothold.change(id, {
        status,
        workerId: null,
        finishedAt: new Date(),
        lastReason: status === 'completed' ? null : status,
        ...fields,
      })
    },
    failWith(error) {
      failure = error
    },
  }
  return foothold
}

const WORKER: WorkerView = {
  id: 'host:1:1:abc',
  release: 'выпуск-7',
  status: 'active',
  handlers: ['support@1'],
  concurrency: 20,
  running: 1,
  startedAt: new Date('2027-01-02T03:04:05.678Z'),
  lastHeartbeatAt: new Date('2027-01-02T03:04:06.000Z'),
  hasLifeline: true,
  loopLagMs: 3,
  rssBytes: 120_000_000,
}

function statusEvent({ status, lastReason, attempt, workerId }: TaskDetail): TaskEvent {
  return { type: 'status', status, reason: lastReason, attempt, workerId }
}

function inspectable(input: unknown): string {
  return JSON.stringify(input, (_, value: unknown) => (typeof value === 'bigint' ? `${value}n` : value))
}

function newDetail(agent: string, input: unknown, options: SubmitOptions): TaskDetail {
  return {
    id: randomUUID() as string as TaskId,
    agent,
    version: 1,
    status: 'pending',
    priority: options.priority ?? 'normal',
    tenant: options.tenant ?? null,
    attempt: 0,
    workerId: null,
    lastReason: null,
    waitingFor: null,
    pausedBy: null,
    wakeAt: options.runAt ?? null,
    errorCount: 0,
    crashCount: 0,
    handoverCount: 0,
    cancelRequestedAt: null,
    createdAt: new Date('2027-01-02T03:04:05.678Z'),
    startedAt: null,
    finishedAt: null,
    input,
    output: undefined,
    error: null,
    deadlineAt: options.deadlineAt ?? null,
    parentId: null,
    parentKey: null,
    steps: [],
    attempts: [],
  }
}
