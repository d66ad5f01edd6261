import type { StepView, TaskDetail } from '../views.ts'
import type { Explanation, GoesOn, LeftInDoubt, Repeat } from './explanation.ts'
import type { StepFacts, TaskFacts } from './task-facts.ts'

/**
 * How a task goes on, and which of its steps' functions are then called a second time. It says what the runners do with
 * the rows they find (worker/step-runner.ts, worker/effect-runner.ts): a stored result answers, everything else runs.
 */
export function wayOn(task: TaskDetail, facts: TaskFacts): Pick<Explanation, 'goesOn' | 'repeats' | 'leftInDoubt'> {
  const goesOn = howItGoesOn(task, facts)
  if (goesOn === 'never' || isStoppedAtOnce(task, facts)) return { goesOn, repeats: [], leftInDoubt: [] }
  const factsOf = new Map(facts.steps.map((step) => [step.key, step]))
  // The step that is refused is refused again, and what first ran after it is not reached.
  const blocking = goesOn === 'in_vain' ? task.steps.find(({ key }) => key === facts.failedStep) : undefined
  const isReached = (startedAt: Date): boolean => blocking === undefined || startedAt < blocking.startedAt
  const moves = task.steps
    .filter((step) => isReached(step.startedAt))
    .map((step) => moveOf(step, factsOf.get(step.key), task, facts.now))
  const known = new Set(task.steps.map((step) => step.key))
  const unfinished = facts.begun.filter(({ key, at }) => !known.has(key) && isReached(at)).map(({ key }) => key)
  return {
    goesOn,
    repeats: [
      ...moves.flatMap((move) => (move !== null && 'because' in move ? [move] : [])),
      ...unfinished.map(
        (key): Repeat => ({ step: key, kind: 'step', because: 'unfinished', does: 'run', tries: 1, error: null }),
      ),
    ],
    leftInDoubt: moves.flatMap((move) => (move !== null && !('because' in move) ? [move] : [])),
  }
}

function howItGoesOn(task: TaskDetail, facts: TaskFacts): GoesOn {
  switch (task.status) {
    case 'waiting':
      return task.waitingFor === 'code' && facts.liveWorkers === 0 ? 'in_vain' : 'by_itself'
    case 'pending':
    case 'processing':
      return 'by_itself'
    case 'completed':
    case 'cancelled':
      return 'never'
    case 'dead_letter':
      return isRefusedAgain(task) || isStoppedAtOnce(task, facts) || isChildStillDead(task, facts)
        ? 'in_vain'
        : 'by_resume'
  }
}

/** By the same code, for the same reason. */
function isRefusedAgain({ lastReason }: TaskDetail): boolean {
  return lastReason === 'input_invalid' || lastReason === 'code_changed' || lastReason === 'effect_request_changed'
}

/** The child that stopped it has not gone on: it would stop it again. */
function isChildStillDead(task: TaskDetail, { failedStep }: TaskFacts): boolean {
  const child = task.steps.find(({ key }) => key === failedStep)?.child
  return task.lastReason === 'child_failed' && (child?.status === 'dead_letter' || child?.status === 'cancelled')
}

/** A deadline of the producer's that has passed ends the next attempt before its first step. */
function isStoppedAtOnce(task: TaskDetail, { isDeadlineFixed, now }: TaskFacts): boolean {
  if (task.status !== 'dead_letter') return false
  return task.lastReason === 'input_invalid' || (isDeadlineFixed && task.deadlineAt !== null && task.deadlineAt <= now)
}

function moveOf(
  step: StepView,
  facts: StepFacts | undefined,
  task: TaskDetail,
  now: Date,
): Repeat | LeftInDoubt | null {
  const { key, kind, tries } = step
  const repeat = (because: Repeat['because'], does: Repeat['does']): Repeat => {
    return { step: key, kind, because, does, tries, error: step.error?.message ?? null }
  }
  // Code between the steps runs in every attempt; a child is never started a second time, only looked at.
  if (kind === 'run' || kind === 'child') return null
  switch (step.status) {
    case 'completed':
    case 'waiting':
      return null
    case 'failed':
      // Failed for good, and its task went on without it: only a resume tries it again.
      if (facts?.isRetryable === false && task.status !== 'dead_letter') return null
      return repeat('failed', kind === 'effect' ? 'send' : 'run')
    case 'unknown':
      return { step: key, does: 'ask' }
    case 'intent':
      return doubtOf(step, facts, now, (does) => repeat('doubt', does))
  }
}

function doubtOf(
  { key }: StepView,
  facts: StepFacts | undefined,
  now: Date,
  repeat: (does: Repeat['does']) => Repeat,
): Repeat | LeftInDoubt {
  if (facts?.keyUntil !== null && facts?.keyUntil !== undefined && facts.keyUntil > now) return repeat('send_again')
  switch (facts?.onDoubt) {
    case 'find':
      return repeat('look_up')
    case 'repeat':
      return repeat('send_again')
    case 'stop':
      return { step: key, does: 'tell' }
    case 'ask':
      return { step: key, does: 'ask' }
    case null:
    case undefined:
      return repeat('settle')
  }
}
