import type { StepView, TaskDetail } from '../views.ts'
import { duration, fromNow } from './durations.ts'
import { pauseText } from './pause-text.ts'
import { reasonWords } from './reason-words.ts'
import type { TaskFacts } from './task-facts.ts'

/** Why a task stands where it stands, in a sentence. */
export function causeOf(task: TaskDetail, facts: TaskFacts): string {
  switch (task.status) {
    case 'pending':
      return pendingCause(task, facts)
    case 'processing':
      return processingCause(task, facts)
    case 'waiting':
      return waitingCause(task, facts)
    case 'completed':
      return `attempt ${task.attempt} brought it to its end`
    case 'cancelled':
      return facts.cancelReason === null || facts.cancelReason === 'cancelled'
        ? 'it was cancelled'
        : `it was cancelled: ${facts.cancelReason}`
    case 'dead_letter':
      return deadLetterCause(task, facts)
  }
}

function pendingCause(task: TaskDetail, facts: TaskFacts): string {
  const before = task.lastReason === null ? '' : `; before that, ${reasonWords(task.lastReason)}`
  const [pause] = facts.pauses
  if (pause !== undefined) return `${pauseText(pause, facts.now)}${before}`
  if (facts.liveWorkersInAll === 0) return `no worker is alive that could run it${before}`
  if (facts.liveWorkers === 0 && facts.pausedReleases.length > 0) {
    return `every live worker that has ${facts.handler} is of a paused release: ${facts.pausedReleases.join(', ')}${before}`
  }
  if (facts.liveWorkers === 0) return `no live worker has the handler ${facts.handler}${knownText(facts)}${before}`
  if (facts.isSuspect) return `it has cost workers their life, so it runs only where nothing else runs${before}`
  const queue = facts.tasksBefore === 0 ? 'nothing stands before it' : `${facts.tasksBefore} stand before it`
  const slots = facts.freeSlots === 0 ? 'all slots are taken' : `${facts.freeSlots} slots are free`
  return `it is about to be claimed: ${workersText(facts.liveWorkers)} can run it, ${slots}, ${queue}${before}`
}

/** Who could run it, were it alive. */
function knownText({ knownBy, now }: TaskFacts): string {
  if (knownBy.length === 0) return '; none ever had'
  const releases = knownBy.map(({ release, lastSeenAt }) => `${release} (last seen ${fromNow(lastSeenAt, now)})`)
  return `; had by ${releases.join(', ')}`
}

function workersText(count: number): string {
  return count === 1 ? '1 live worker' : `${count} live workers`
}

function processingCause(task: TaskDetail, facts: TaskFacts): string {
  const worker = task.workerId ?? 'nobody'
  if (facts.worker === null) return `its worker ${worker} is not registered; the next sweep of any worker returns it`
  if (facts.worker.status === 'lost' || facts.worker.status === 'stopped') {
    return `its worker ${worker} is ${facts.worker.status}; the next sweep of any worker returns it`
  }
  const heartbeat = fromNow(facts.worker.lastHeartbeatAt, facts.now)
  if (!facts.worker.isLeaseGood) {
    return `its worker ${worker} gave its last sign of life ${heartbeat}; another worker will declare it lost`
  }
  const begun = facts.begun.filter(({ isInThisAttempt }) => isInThisAttempt).map(({ key }) => key)
  const steps = begun.length === 0 ? 'between steps, or in one that has just begun' : `in ${begun.join(', ')}`
  const cancel =
    task.cancelRequestedAt === null
      ? ''
      : `; its cancelling was asked for ${fromNow(task.cancelRequestedAt, facts.now)}`
  const [pause] = facts.pauses
  const paused = pause === undefined ? '' : `; ${pauseText(pause, facts.now)}: it is handed over after its current step`
  return `worker ${worker} is at it, ${steps}; its heartbeat came ${heartbeat}${cancel}${paused}`
}

function waitingCause(task: TaskDetail, facts: TaskFacts): string {
  const wakes = task.wakeAt === null ? '' : wakesText(task.wakeAt, facts.now)
  switch (task.waitingFor ?? '') {
    case 'pause': {
      const [pause] = facts.pauses
      return pause === undefined ? 'its pause is over; any worker puts it back' : pauseText(pause, facts.now)
    }
    case 'limit':
      return `the limit of ${facts.limitedBy?.replace(':', ' ') ?? 'its lane'} is full: it starts when there is room${wakes}`
    case 'start':
      return `it is not to start before ${facts.runAt.toISOString()}${wakes}`
    case 'retry':
      return `${failureText(task, facts) ?? 'a step failed'}; it is tried again${wakes}`
    case 'sleep':
      return `it sleeps in ${waitingSteps(task)}${wakes}`
    case 'signal': {
      const unused = facts.unconsumedSignals
      const came = unused.length === 0 ? 'none has come' : `unused so far: ${unused.join(', ')}`
      return `it waits for a signal in ${waitingSteps(task)}${wakes}; ${came}`
    }
    case 'code': {
      const others =
        facts.liveWorkers === 0 ? 'none is alive' : `${workersText(facts.liveWorkers)} of others will try it`
      return `${task.error?.message ?? 'the code changed under it'} Refused by ${facts.refusedBy.join(', ')}; ${others}`
    }
    case 'child':
      return `it waits for ${childrenText(task)}${wakes}`
    case 'approval':
      return `it waits for a person's answer: ${questionsOf(task)
        .map(({ key, question }) => `${question?.title ?? key} (${key})`)
        .join(', ')}${wakes}`
    case 'person':
      return `nobody can know whether ${doubtful(task).join(', ')} happened: a person must look at the receiver and decide`
    default:
      return `it waits for ${task.waitingFor ?? 'nothing that anybody knows'}${wakes}`
  }
}

const CHILDREN_MAX = 5

function childrenText(task: TaskDetail): string {
  const steps = task.steps.filter((step) => step.kind === 'child' && step.status === 'waiting')
  const shown = steps
    .slice(0, CHILDREN_MAX)
    .map(({ key, child }) => `${key}: ${child === null ? 'deleted' : `${child.id} (${child.status})`}`)
  const rest = steps.length - shown.length
  return `${steps.length === 1 ? 'its child' : 'its children'} ${shown.join(', ')}${rest > 0 ? ` and ${rest} more` : ''}`
}

/** What a person is asked and has not answered. */
export function questionsOf(task: TaskDetail): StepView[] {
  return task.steps.filter((step) => step.kind === 'approval' && step.status === 'waiting')
}

/** Past its time: whoever wakes tasks is not at work. */
function wakesText(wakeAt: Date, now: Date): string {
  const overdueMs = now.getTime() - wakeAt.getTime()
  return overdueMs > 0 ? `, due for ${duration(overdueMs)} now` : `, ${fromNow(wakeAt, now)}`
}

function deadLetterCause(task: TaskDetail, facts: TaskFacts): string {
  const words = reasonWords(task.lastReason ?? 'step_failed')
  if (task.lastReason === 'orphaned') {
    const crashes = `${facts.crashesTotal} ${facts.crashesTotal === 1 ? 'crash' : 'crashes'} in all`
    return `${words} again and again while running it (${crashes}): ${task.error?.message ?? ''}`
  }
  return `${words}: ${failureText(task, facts) ?? 'no error was stored'}`
}

/** What stopped it, with its step where one is to blame; while it lives, the newest failure. */
function failureText(task: TaskDetail, { failedStep }: TaskFacts): string | null {
  const failures = task.steps.filter(
    (step) => step.error !== null && (step.status === 'failed' || step.status === 'intent'),
  )
  const isDead = task.status === 'dead_letter'
  const step = failures.findLast(({ key, error }) =>
    isDead ? key === failedStep || error?.message === task.error?.message : true,
  )
  const message = (step?.error ?? task.error)?.message
  if (message === undefined) return null
  return step === undefined ? message : `${stepName(step)}: ${message}`
}

/** What fails between two steps is stored as a step of its own. */
export function stepName(step: Pick<StepView, 'key' | 'kind'>): string {
  return step.kind === 'run' ? 'the code between the steps' : `step ${JSON.stringify(step.key)}`
}

function waitingSteps(task: TaskDetail): string {
  const keys = task.steps.filter((step) => step.status === 'waiting').map((step) => JSON.stringify(step.key))
  return keys.length === 0 ? 'no stored step' : keys.join(', ')
}

/** The effects about which a person is asked. */
export function doubtful(task: TaskDetail): string[] {
  const steps = task.steps.filter((step) => step.kind === 'effect')
  const asked = steps.filter((step) => step.status === 'unknown')
  return (asked.length > 0 ? asked : steps.filter((step) => step.status === 'intent')).map((step) => step.key)
}
