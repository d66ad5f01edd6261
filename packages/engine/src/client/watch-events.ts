import { decode } from '../protocol/codec.ts'
import type { StoredError, TaskEvent, TaskStatus } from '../protocol/views.ts'

/**
 * What a watcher is shown: the difference between one look at a task and the next, as events.
 * 1. Chunks of a step come from its newest try alone; `superseded` voids what was shown of an older one, once.
 * 2. A terminal status is the last event, after every chunk that was stored.
 * 3. Status and steps are states: they may be shown again by a later watch, never out of order within one.
 */

export interface LookedTask {
  readonly status: TaskStatus
  readonly reason: string | null
  readonly attempt: number
  readonly workerId: string | null
  readonly steps: readonly LookedStep[]
  readonly chunks: readonly LookedChunk[]
  readonly isMore: boolean
}

export interface LookedStep {
  readonly key: string
  readonly status: 'intent' | 'waiting' | 'failed' | 'completed' | 'unknown'
  readonly tries: number
  readonly attempt: number
  readonly error: StoredError | null
}

export interface LookedChunk {
  readonly id: string
  readonly key: string
  readonly attempt: number
  readonly tries: number
  readonly isStart: boolean
  /** JSON text of a string. */
  readonly chunk: string
  readonly channel: string
}

export interface Try {
  readonly attempt: number
  readonly tries: number
  readonly hasChunks: boolean
}

export interface WatchView {
  /** The events since the last look; `isEnded` after the terminal status. */
  next(task: LookedTask): { readonly events: readonly TaskEvent[]; readonly isEnded: boolean }
}

export function isTerminal(status: TaskStatus): boolean {
  return status === 'completed' || status === 'cancelled' || status === 'dead_letter'
}

/** `shown`: the newest try of each step of which an earlier watch has seen something. */
export function createWatchView(shown: ReadonlyMap<string, Try> = new Map()): WatchView {
  const newest = new Map(shown)
  const steps = new Map<string, string>()
  let status = ''
  let isFirst = true

  const statusEvents = (task: LookedTask): TaskEvent[] => {
    const { reason, attempt, workerId } = task
    const now = `${task.status} ${attempt} ${workerId} ${reason}`
    if (now === status) return []
    status = now
    return [{ type: 'status', status: task.status, reason, attempt, workerId }]
  }

  const stepEvents = (step: LookedStep): TaskEvent[] => {
    const { key, tries, attempt, error } = step
    const now = `${step.status} ${attempt} ${tries}`
    if (now === steps.get(key)) return []
    steps.set(key, now)
    return [{ type: 'step', key, status: step.status, tries, attempt, error }]
  }

  const chunkEvents = (chunk: LookedChunk, task: LookedTask, step: LookedStep | undefined): TaskEvent[] => {
    const { key, attempt, tries } = chunk
    const before = newest.get(key)
    const order = before === undefined ? 1 : attempt - before.attempt || tries - before.tries
    if (order < 0) return []
    const events: TaskEvent[] = []
    // A failure is told before what a newer try says.
    if (step?.status === 'failed' && (step.attempt - attempt || step.tries - tries) < 0)
      events.push(...stepEvents(step))
    if (order > 0 && before?.hasChunks === true) {
      // Whoever goes on after this cursor must still get the chunk that it stands before.
      events.push({ type: 'superseded', key, cursor: chunk.isStart ? chunk.id : String(BigInt(chunk.id) - 1n) })
    }
    newest.set(key, { attempt, tries, hasChunks: !chunk.isStart || (order === 0 && before?.hasChunks === true) })
    if (chunk.isStart) {
      if (isRunning(chunk, task, step))
        events.push({ type: 'step', key, status: 'running', tries, attempt, error: null })
    } else {
      events.push({
        type: 'chunk',
        key,
        channel: chunk.channel,
        text: decode(chunk.chunk) as string,
        attempt,
        cursor: chunk.id,
      })
    }
    return events
  }

  return {
    next(task) {
      const stored = new Map(task.steps.map((step) => [step.key, step]))
      const isEnding = isTerminal(task.status)
      const events: TaskEvent[] = isEnding ? [] : statusEvents(task)
      if (isFirst) {
        events.push(...task.steps.flatMap(stepEvents))
        for (const [key, { attempt, tries }] of newest) {
          if (isRunning({ attempt, tries }, task, stored.get(key))) {
            events.push({ type: 'step', key, status: 'running', tries, attempt, error: null })
          }
        }
        isFirst = false
      }
      for (const chunk of task.chunks) events.push(...chunkEvents(chunk, task, stored.get(chunk.key)))
      if (task.isMore) return { events, isEnded: false }
      events.push(...task.steps.flatMap(stepEvents))
      if (isEnding) events.push(...statusEvents(task))
      return { events, isEnded: isEnding }
    },
  }
}

/** A try that began in the present attempt and has left no result yet. */
function isRunning(
  begun: { readonly attempt: number; readonly tries: number },
  task: LookedTask,
  step: LookedStep | undefined,
): boolean {
  if (task.status !== 'processing' || begun.attempt !== task.attempt) return false
  if (step === undefined || step.status === 'intent' || step.status === 'waiting') return true
  return step.status === 'failed' && step.tries < begun.tries
}
