import type { AttemptView, TaskDetail } from '../views.ts'
import type { ReleaseVerdict } from './explanation.ts'
import type { ReleaseFacts } from './task-facts.ts'

/** What workers are called that were given no label. */
const UNLABELLED = 'unlabelled'

/**
 * Was it the release? Perhaps, when what failed is newer than what last worked for this agent, and nothing has worked
 * under it. Never more than perhaps: something else may have changed on the same day.
 */
export function releaseVerdict(task: TaskDetail, facts: ReleaseFacts): ReleaseVerdict {
  const failed = task.attempts.filter(isFailure)
  const last = failed.at(-1)
  if (last === undefined) return { kind: 'no_failure' }
  const releaseOf = new Map(facts.ofAttempts.map(({ attempt, release }) => [attempt, release]))
  const release = releaseOf.get(last.attempt)
  if (release === undefined || release === UNLABELLED) return { kind: 'unknown', release: null }

  const own = facts.successes.find((success) => success.release === release)
  if (own !== undefined) return { kind: 'unlikely', release, lastSuccessAt: own.lastAt, also: null }
  const since = firstSeen(facts, release)
  const others = failed.flatMap(({ attempt }) => releaseOf.get(attempt) ?? []).filter((other) => other !== release)
  const older = others.find((other) => isBefore(firstSeen(facts, other), since))
  if (older !== undefined) return { kind: 'unlikely', release, lastSuccessAt: null, also: older }

  const before = facts.successes
    .filter((success) => isBefore(firstSeen(facts, success.release), since))
    .toSorted((one, other) => other.lastAt.getTime() - one.lastAt.getTime())[0]
  if (before === undefined || since === null) return { kind: 'unknown', release }
  return { kind: 'perhaps', release, since, before: { release: before.release, lastSuccessAt: before.lastAt } }
}

function isFailure({ outcome, reason }: AttemptView): boolean {
  return outcome === 'dead_letter' || outcome === 'orphaned' || (outcome === 'waiting' && reason !== null)
}

function firstSeen({ firstSeen: seen }: ReleaseFacts, release: string): Date | null {
  return seen.find((one) => one.release === release)?.at ?? null
}

function isBefore(one: Date | null, other: Date | null): boolean {
  return one !== null && other !== null && one < other
}
