import type { TaskId, Usage } from './task-context.ts'

/** How tasks, steps, attempts and workers look from outside. Times are the database's. */

export const TASK_STATUSES = ['pending', 'processing', 'waiting', 'completed', 'cancelled', 'dead_letter'] as const
export type TaskStatus = (typeof TASK_STATUSES)[number]
export const PRIORITIES = ['live', 'normal', 'batch'] as const
export type Priority = (typeof PRIORITIES)[number]

export interface StoredError {
  readonly code: string
  readonly message: string
}

export type TaskState<Output> =
  | { readonly status: 'pending' | 'processing' | 'waiting' }
  | { readonly status: 'completed'; readonly output: Output }
  | { readonly status: 'cancelled'; readonly reason: string }
  | { readonly status: 'dead_letter'; readonly reason: string; readonly error: StoredError }

/** One line of a list of tasks. */
export interface TaskSummary {
  readonly id: TaskId
  readonly agent: string
  readonly version: number
  readonly status: TaskStatus
  readonly priority: Priority
  readonly tenant: string | null
  readonly attempt: number
  readonly workerId: string | null
  readonly lastReason: string | null
  /** What a waiting task waits for: `start`, `retry`, `sleep`, `signal`, `child`, `approval`, `person`, `pause`, `limit`, `code`. */
  readonly waitingFor: string | null
  readonly wakeAt: Date | null
  /** What holds a task that has not ended: a pause of its agent or of its tenant. */
  readonly pausedBy: 'agent' | 'tenant' | null
  readonly errorCount: number
  readonly crashCount: number
  readonly handoverCount: number
  readonly cancelRequestedAt: Date | null
  readonly createdAt: Date
  readonly startedAt: Date | null
  readonly finishedAt: Date | null
}

export interface StepView {
  readonly key: string
  readonly kind: 'step' | 'transaction' | 'effect' | 'sleep' | 'signal' | 'child' | 'approval' | 'run'
  readonly status: 'intent' | 'waiting' | 'failed' | 'completed' | 'unknown'
  readonly version: number
  readonly tries: number
  readonly attempt: number
  readonly workerId: string | null
  readonly output: unknown
  readonly error: StoredError | null
  readonly usage: Usage | null
  /** The task that a step of the kind `child` started; null when it has been deleted. */
  readonly child: ChildView | null
  /** What an `approval` asks. */
  readonly question: QuestionView | null
  readonly startedAt: Date
  readonly finishedAt: Date | null
}

export interface ChildView {
  readonly id: TaskId
  readonly agent: string
  readonly status: TaskStatus
}

export interface QuestionView {
  readonly title: string
  readonly details: string | null
  /** Null: it waits for ever, or has its answer. */
  readonly expiresAt: Date | null
}

export interface AttemptView {
  readonly attempt: number
  readonly workerId: string
  readonly startedAt: Date
  readonly endedAt: Date
  readonly outcome: 'completed' | 'handed_over' | 'waiting' | 'orphaned' | 'cancelled' | 'dead_letter'
  readonly reason: string | null
  readonly detail: string | null
}

export interface TaskDetail extends TaskSummary {
  readonly input: unknown
  /** Present when completed. */
  readonly output: unknown
  readonly error: StoredError | null
  readonly deadlineAt: Date | null
  /** Whose child it is, under its step `parentKey`; without one, the dead letter that it is the follow-up of. */
  readonly parentId: TaskId | null
  readonly parentKey: string | null
  readonly steps: readonly StepView[]
  readonly attempts: readonly AttemptView[]
}

export interface WorkerView {
  readonly id: string
  readonly release: string
  readonly status: 'active' | 'draining' | 'stopped' | 'lost'
  readonly handlers: readonly string[]
  readonly concurrency: number
  readonly running: number
  readonly startedAt: Date
  readonly lastHeartbeatAt: Date
  /** False, behind a pooler for instance: a kill is noticed after its lease. */
  readonly hasLifeline: boolean
  /** The longest time between its last two heartbeats for which its main loop did not get its turn. Null before the first. */
  readonly loopLagMs: number | null
  /** Its whole process. Null before the first heartbeat. */
  readonly rssBytes: number | null
}

/**
 * What a watcher sees. A watch begins with the present status and steps, then follows; `chunk` events carry a cursor
 * with which a later watch goes on without gap or repetition, the others are states and may come again.
 */
export type TaskEvent =
  | {
      readonly type: 'status'
      readonly status: TaskStatus
      readonly reason: string | null
      readonly attempt: number
      readonly workerId: string | null
    }
  | {
      readonly type: 'step'
      readonly key: string
      readonly status: 'running' | StepView['status']
      readonly tries: number
      readonly attempt: number
      readonly error: StoredError | null
    }
  /** A later try of the step began: its earlier chunks are void. */
  | { readonly type: 'superseded'; readonly key: string; readonly cursor: string }
  | {
      readonly type: 'chunk'
      readonly key: string
      readonly channel: string
      readonly text: string
      readonly attempt: number
      readonly cursor: string
    }

export interface Page<Item> {
  readonly items: readonly Item[]
  /** Pass it as `cursor` for the next page; null at the end. */
  readonly nextCursor: string | null
}

export interface TaskFilter {
  readonly status?: TaskStatus | undefined
  readonly agent?: string | undefined
  readonly tenant?: string | undefined
  readonly cursor?: string | undefined
  /** 1 to 200, default 50. */
  readonly limit?: number | undefined
}
