import type { AttemptView, StepView, StoredError, TaskStatus } from '../views.ts'

/** Where a task stands and why, as values: the same for the terminal, for --json, for HTTP and for an alert. */
export interface Explanation {
  readonly id: string
  readonly agent: string
  readonly version: number
  readonly tenant: string | null
  readonly status: TaskStatus
  readonly reason: string | null
  /** A sentence. */
  readonly why: string
  readonly since: Date
  /** The database's time at which this was so. */
  readonly at: Date
  readonly error: StoredError | null
  /** The step whose failure ended the task; null when none did. */
  readonly failedStep: string | null
  readonly release: ReleaseVerdict
  readonly budgets: {
    readonly errors: number
    readonly crashes: number
    readonly crashesMax: number
    readonly deploys: number
  }
  readonly outside: Outside
  /** Keys of steps that have a result: none of them runs again. */
  readonly stored: readonly string[]
  readonly goesOn: GoesOn
  /** What runs again, of what has run before, when the task goes on as `goesOn` says. */
  readonly repeats: readonly Repeat[]
  /** Effects in doubt for which nothing is sent and nothing looked up any more. */
  readonly leftInDoubt: readonly LeftInDoubt[]
  readonly attempts: readonly AttemptView[]
  /** What to type next, the likeliest first. */
  readonly next: readonly string[]
}

/**
 * - `by_resume`: a person's `resume` starts it again
 * - `by_itself`: nobody has to do anything, or only to decide on an effect
 * - `in_vain`: a resume would end at the same place, unless code or deadline are others
 * - `never`: it has ended
 */
export type GoesOn = 'by_resume' | 'by_itself' | 'in_vain' | 'never'

export interface Repeat {
  readonly step: string
  readonly kind: StepView['kind']
  /** `doubt`: an effect that may have happened. `unfinished`: it has begun and left no result. */
  readonly because: 'failed' | 'doubt' | 'unfinished'
  /**
   * - `run`: its function
   * - `send`: a new request after a refusal; `send_again`: the same request under the same key
   * - `look_up`: the receiver is asked, and only where it has nothing is the request sent
   * - `settle`: by the author's promise, which this version of the row does not tell
   */
  readonly does: 'run' | 'send' | 'send_again' | 'look_up' | 'settle'
  readonly tries: number
  readonly error: string | null
}

export interface LeftInDoubt {
  readonly step: string
  /** `ask`: a person is asked. `tell`: the code is told that the outcome is unknown. */
  readonly does: 'ask' | 'tell'
}

/** What the world outside has seen of the task. */
export interface Outside {
  readonly done: readonly string[]
  readonly inDoubt: readonly string[]
  /** The receiver refused; surely nothing happened. */
  readonly refused: readonly string[]
  /** The task that tells the client of a dead letter. */
  readonly followUp: { readonly id: string; readonly status: TaskStatus } | null
}

/** Whether the release that failed is new and nothing has worked under it. */
export type ReleaseVerdict =
  | { readonly kind: 'no_failure' }
  | {
      readonly kind: 'perhaps'
      readonly release: string
      readonly since: Date
      readonly before: { readonly release: string; readonly lastSuccessAt: Date }
    }
  | {
      readonly kind: 'unlikely'
      readonly release: string
      readonly lastSuccessAt: Date | null
      readonly also: string | null
    }
  | { readonly kind: 'unknown'; readonly release: string | null }
