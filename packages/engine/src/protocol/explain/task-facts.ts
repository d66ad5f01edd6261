import type { Pause } from '../pauses.ts'
import type { TaskStatus } from '../views.ts'

/** What a person asks of a task and its own views do not tell. Read by store/why.ts. */
export interface TaskFacts {
  /** The database's time. */
  readonly now: Date
  readonly crashesMax: number
  readonly crashesTotal: number
  readonly isSuspect: boolean
  readonly handler: string
  readonly cancelReason: string | null
  readonly claimedAt: Date | null
  readonly runAt: Date
  /** The producer gave the deadline: no resume moves it. */
  readonly isDeadlineFixed: boolean
  /** The step that the stored error blames. */
  readonly failedStep: string | null
  /** How its worker stands; null when it has none. */
  readonly worker: { readonly status: string; readonly lastHeartbeatAt: Date; readonly isLeaseGood: boolean } | null
  /** Of workers that are alive and have the handler. */
  readonly liveWorkers: number
  readonly freeSlots: number
  /** Live workers of any handler. */
  readonly liveWorkersInAll: number
  /** Pending tasks that a claim takes before this one; counted up to a bound. */
  readonly tasksBefore: number
  /** Releases whose code has refused it. Of those that wait for other code, their workers are not among `liveWorkers`. */
  readonly refusedBy: readonly string[]
  /** Releases that have had the handler, the one seen last first; read where no live worker has it. */
  readonly knownBy: readonly { readonly release: string; readonly lastSeenAt: Date }[]
  readonly unconsumedSignals: readonly string[]
  readonly steps: readonly StepFacts[]
  /** That hold this task: of its agent and of its tenant. */
  readonly pauses: readonly Pause[]
  /** The limit that was full when it was to be claimed: `key:gigachat`. */
  readonly limitedBy: string | null
  /** Releases that are paused, of workers that are alive and have the handler; they are not among `liveWorkers`. */
  readonly pausedReleases: readonly string[]
  /** Steps that are known to have begun, in any attempt, and have no result. */
  readonly begun: readonly { readonly key: string; readonly isInThisAttempt: boolean; readonly at: Date }[]
  readonly releases: ReleaseFacts
  readonly followUp: { readonly id: string; readonly status: TaskStatus } | null
}

export interface StepFacts {
  readonly key: string
  readonly isRetryable: boolean
  readonly refusals: number
  readonly dueAt: Date | null
  readonly doubtUntil: Date | null
  /** An effect's: what is done about a doubt; null where the row does not tell. */
  readonly onDoubt: 'find' | 'repeat' | 'stop' | 'ask' | null
  /** Until then the same request is sent again under the same key, whatever `onDoubt` says. */
  readonly keyUntil: Date | null
}

export interface ReleaseFacts {
  /** By the number of the attempt; those whose worker is not registered any more are missing. */
  readonly ofAttempts: readonly { readonly attempt: number; readonly release: string }[]
  /** When a worker of the release was first started. */
  readonly firstSeen: readonly { readonly release: string; readonly at: Date }[]
  /** Under which releases the newest tasks of the same agent were completed, and when last. */
  readonly successes: readonly { readonly release: string; readonly lastAt: Date }[]
}
