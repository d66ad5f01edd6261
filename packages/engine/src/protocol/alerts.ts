import type { FailedRelease } from './alert-release.ts'
import type { Reason } from './reasons.ts'
import type { TaskId } from './task-context.ts'
import type { StepView } from './views.ts'

/** What on-call is told of a group of dead letters, and the way it takes. Words are the channel's affair. */

/** A channel's own name of a message, kept for its edits: plain JSON. */
export type MessageRef = Readonly<Record<string, string | number | boolean | null>>

/**
 * Where alerts go: a chat, a webhook. How a call fails says what may follow, as in an effect's `send`: RetryError (surely
 * not delivered, again after `afterMs`), TerminalError (surely not delivered, and a person must mend the channel); after
 * any other error the message may have arrived. No error may hold a secret: it is logged and stored.
 */
export interface AlertChannel {
  /** Stable and unique: under it stands how far the channel has shown each group. */
  readonly name: string
  /** The first message about a group. May come a second time when the outcome of the first is unknown. */
  send(message: AlertMessage, context: AlertContext): Promise<MessageRef>
  /** A newer state of the same group. Answers the name under which the message is edited from now on. */
  update(ref: MessageRef, message: AlertMessage, context: AlertContext): Promise<MessageRef>
}

export interface AlertContext {
  /** Aborts after 10 s, and soon after the worker begins to stop. */
  readonly signal: AbortSignal
  /** True: an earlier send of this first message may have arrived. */
  readonly mayBeRepeated: boolean
}

/**
 * A group of dead letters: one agent, one reason, without an hour's pause between them. Two groups are of other tasks:
 * `code_changed` of those that wait for the code of another release, and `handler_unknown` of pending tasks that no live
 * worker can run, whose `agent` is the handler and whose `tasks` only count, up to 1,000.
 */
export interface AlertMessage {
  /** Of the group; the same in all channels and versions. */
  readonly id: string
  /** `resolved`: none of its tasks stands any more. */
  readonly status: 'open' | 'resolved'
  readonly agent: string
  readonly reason: Reason
  readonly since: Date
  readonly lastAt: Date
  readonly resolvedAt: Date | null
  readonly tasks: AlertCounts
  /** How many of its tasks the findings below were read from: dead letters first, a thousand at most. */
  readonly examined: number
  /** What went wrong, the commonest first. */
  readonly errors: readonly AlertError[]
  /** Dead letters that stand, the oldest first. */
  readonly examples: readonly AlertExample[]
  readonly release: FailedRelease
  /** Effects that stood in these tasks when they died, or that completed tasks of this agent had. */
  readonly effects: readonly AlertEffect[]
  /** What the follow-ups of these tasks (`onDeadLetter`) did; null where there is none. */
  readonly followUps: AlertFollowUps | null
  /** What `resume` runs again first, of what has left a trace, counted over the examined dead letters. */
  readonly repeats: readonly AlertRepeat[]
  /** What to type, the likeliest first. */
  readonly commands: readonly string[]
}

export interface AlertCounts {
  readonly total: number
  /** Still dead letters of this group, or waiting as they were. */
  readonly standing: number
  /** Resumed or restarted, and not at their end. */
  readonly underWay: number
  readonly completed: number
  readonly cancelled: number
}

export interface AlertError {
  /** Null: no step of its own, for instance a crash. */
  readonly step: string | null
  readonly message: string
  readonly tasks: number
}

export interface AlertExample {
  readonly id: TaskId
  readonly tenant: string | null
}

/** In how many tasks: the rest of the examined ones has not begun it. */
export interface AlertEffect {
  readonly key: string
  readonly done: number
  readonly inDoubt: number
}

export interface AlertFollowUps {
  readonly completed: number
  readonly underWay: number
  readonly deadLetters: number
  /** Their effects that were done: how the waiting person was told. */
  readonly effects: readonly { readonly key: string; readonly done: number }[]
}

export interface AlertRepeat {
  readonly step: string
  readonly kind: StepView['kind']
  /** `doubt`: an effect that may have happened. */
  readonly because: 'failed' | 'doubt'
  readonly tasks: number
}
