import type { AttemptView, StepView, TaskDetail, TaskStatus } from '../protocol/views.ts'
import type { WhyFacts } from '../store/why.ts'
import { nextCommands } from './next-commands.ts'
import { causeOf } from './task-cause.ts'

/** Where a task stands and why, as values: the same for the terminal and for --json. */
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
  readonly budgets: {
    readonly errors: number
    readonly crashes: number
    readonly crashesMax: number
    readonly deploys: number
  }
  readonly stored: readonly string[]
  /** What the next attempt runs again, of what has left a trace. */
  readonly repeats: readonly Repeat[]
  readonly attempts: readonly AttemptView[]
  /** What to type next. */
  readonly next: readonly string[]
}

export interface Repeat {
  readonly step: string
  readonly kind: StepView['kind']
  /** `doubt`: an effect that may have happened. */
  readonly because: 'failed' | 'doubt' | 'unfinished'
  readonly tries: number
  readonly error: string | null
}

export function explain(task: TaskDetail, facts: WhyFacts, now: Date): Explanation {
  return {
    id: task.id,
    agent: task.agent,
    version: task.version,
    tenant: task.tenant,
    status: task.status,
    reason: task.lastReason,
    why: causeOf(task, facts, now),
    since: sinceOf(task, facts),
    budgets: {
      errors: task.errorCount,
      crashes: task.crashCount,
      crashesMax: facts.crashesMax,
      deploys: task.handoverCount,
    },
    stored: task.steps.filter((step) => step.status === 'completed').map((step) => step.key),
    repeats: task.status === 'completed' ? [] : repeatsOf(task.steps, facts.begun),
    attempts: task.attempts,
    next: nextCommands(task, facts),
  }
}

function sinceOf(task: TaskDetail, facts: WhyFacts): Date {
  const lastEnd = task.attempts.at(-1)?.endedAt ?? task.createdAt
  switch (task.status) {
    case 'processing':
      return facts.claimedAt ?? task.createdAt
    case 'pending':
    case 'waiting':
      return lastEnd
    case 'completed':
    case 'cancelled':
    case 'dead_letter':
      return task.finishedAt ?? lastEnd
  }
}

function repeatsOf(steps: readonly StepView[], begun: readonly string[]): Repeat[] {
  const stored = steps.flatMap((step): Repeat[] => {
    const { key, kind, tries } = step
    const error = step.error?.message ?? null
    switch (step.status) {
      case 'completed':
      case 'waiting':
        return []
      case 'failed':
        return [{ step: key, kind, because: 'failed', tries, error }]
      case 'intent':
      case 'unknown':
        return [{ step: key, kind, because: 'doubt', tries, error }]
    }
  })
  const known = new Set(steps.map((step) => step.key))
  const unfinished = begun.filter((key) => !known.has(key))
  return [
    ...stored,
    ...unfinished.map((key): Repeat => ({ step: key, kind: 'step', because: 'unfinished', tries: 1, error: null })),
  ]
}
