import { cleanMessage, encode } from '../protocol/codec.ts'
import { FootholdError } from '../protocol/errors.ts'
import type { CancelAnswer, Decision, RestartReport } from '../protocol/foothold.ts'
import { checkKey } from '../protocol/names.ts'
import type { TaskId } from '../protocol/task-context.ts'
import { cancelChildren, tellParents } from '../store/children.ts'
import type { Database } from '../store/database.ts'
import type { Notifier } from '../store/notify.ts'
import * as store from '../store/steer.ts'
import { checkOneOf, checkOptionNames, checkText } from './arguments.ts'
import { parseTaskId } from './new-id.ts'

const RESUMABLE = 'only a dead letter can be resumed, or a task that waits for other code'

/** Shown in lists. */
const REASON_CHARACTERS_MAX = 500

interface Dependencies {
  readonly db: Database
  readonly notifier: Notifier
}

export async function cancelTask(
  { db, notifier }: Dependencies,
  taskId: string,
  options: { readonly reason?: string | undefined },
): Promise<CancelAnswer> {
  checkOptionNames('options', options, ['reason'])
  const { reason = 'cancelled' } = options
  checkText('options.reason', reason)
  const id = requireId(taskId)
  const answer = await store.requestCancel(db, id, cleanMessage(reason, REASON_CHARACTERS_MAX))
  if (answer !== null) {
    await tellKin({ db, notifier }, id)
    return { outcome: answer.status === 'processing' ? 'requested' : 'cancelled', status: answer.status }
  }
  const { status } = await requireStanding(db, id)
  return { outcome: 'already_ended', status: status === 'cancelled' ? 'cancelled' : 'completed' }
}

/** At once; where this is cut short, any worker does it within a second. */
async function tellKin({ db, notifier }: Dependencies, id: TaskId): Promise<void> {
  try {
    const { handlers } = await tellParents(db, id, { doing: 'waking a parent', patienceMs: 0 })
    for (const handler of handlers) notifier.notify(handler)
    await cancelChildren(db, id)
  } catch {
    // The answer is about the task itself, and that has been done.
  }
}

export async function resumeTask({ db, notifier }: Dependencies, taskId: string): Promise<void> {
  const id = requireId(taskId)
  const seen = await requireStanding(db, id)
  if (seen.status === 'dead_letter' || seen.isRefused) {
    const resumed = await store.resumeTask(db, id, seen.attempt)
    if (resumed !== null) return notifier.notify(resumed.handler)
    const now = await requireStanding(db, id)
    if (hasMovedOn(seen, now)) return
    throw conflict(id, now.status, RESUMABLE)
  }
  throw conflict(id, seen.status, RESUMABLE)
}

export async function restartTask(
  { db, notifier }: Dependencies,
  taskId: string,
  options: { readonly from: string },
): Promise<RestartReport> {
  checkOptionNames('options', options, ['from'])
  checkKey('options.from', options.from)
  const id = requireId(taskId)
  const seen = await requireStanding(db, id)
  const wanted = 'only a task that has ended can be restarted; cancel it first'
  const hasEnded = seen.status === 'dead_letter' || seen.status === 'completed' || seen.status === 'cancelled'
  if (!hasEnded && !seen.isRefused) {
    throw conflict(id, seen.status, wanted)
  }
  const steps = await store.readStepsFrom(db, id, options.from)
  const forgotten = steps.filter((step) => step.isForgotten)
  if (forgotten.length === 0) {
    throw new FootholdError('STEP_NOT_FOUND', { taskId: id, key: options.from, known: steps.map((step) => step.key) })
  }
  const keys = forgotten.map((step) => step.key)
  const restarted = await store.restartTask(db, id, seen.attempt, keys)
  if (restarted === null) {
    const now = await requireStanding(db, id)
    if (!hasMovedOn(seen, now)) throw conflict(id, now.status, wanted)
  } else {
    notifier.notify(restarted.handler)
  }
  // A refused effect did nothing; one in doubt may have.
  const acted = forgotten.filter((step) => step.kind === 'effect' && step.status !== 'failed')
  return { forgotten: keys, repeatedEffects: acted.map((step) => step.key) }
}

export async function decideEffect(
  { db, notifier }: Dependencies,
  taskId: string,
  key: string,
  decision: Decision,
): Promise<void> {
  checkKey('key', key)
  checkOptionNames('decision', decision, ['outcome', 'result', 'by'])
  checkOneOf('decision.outcome', decision.outcome, ['done', 'not_done'])
  checkKey('decision.by', decision.by)
  const id = requireId(taskId)
  const output = decision.outcome === 'done' ? encode(decision.result, 'decision.result') : null
  const seen = await requireUndecided(db, id, key)
  const error =
    output === null
      ? encode(
          { code: 'DECIDED_NOT_DONE', message: `${decision.by} decided: it did not happen.`, reason: 'effect_unknown' },
          'decision',
        )
      : null
  const decided = await store.decideEffect(db, {
    taskId: id,
    key,
    output,
    error,
    decidedBy: `person:${decision.by}`,
  })
  if (decided !== null) return notifier.notify(decided.handler)
  const now = await store.readEffect(db, id, key)
  // An earlier try of this very statement, or someone who decided the same at the same time.
  const isSame =
    output === null
      ? (now?.step?.refusals ?? 0) > seen.refusals
      : now?.step?.status === 'completed' && now.step.output === output
  if (!isSame) throw conflict(id, now?.status ?? 'gone', `effect ${JSON.stringify(key)} has been decided otherwise`)
}

async function requireUndecided(db: Database, id: TaskId, key: string): Promise<{ readonly refusals: number }> {
  const seen = await store.readEffect(db, id, key)
  if (seen === null) throw new FootholdError('TASK_NOT_FOUND', { taskId: id })
  const { step, keys, status, waitingFor } = seen
  if (step === null) throw new FootholdError('STEP_NOT_FOUND', { taskId: id, key, known: keys })
  if (status !== 'waiting' || waitingFor !== 'person') {
    throw conflict(id, status, 'only a task that waits for a person takes a decision')
  }
  if (step.kind !== 'effect' || (step.status !== 'unknown' && step.status !== 'intent')) {
    throw conflict(
      id,
      status,
      `step ${JSON.stringify(key)} is a ${step.kind} and ${step.status}, not an effect in doubt`,
    )
  }
  return step
}

/** From exactly the standing that was seen: the same was done already, by an earlier press or try. */
function hasMovedOn(seen: store.Standing, now: store.Standing): boolean {
  return now.attempt > seen.attempt || now.status === 'pending'
}

export function requireId(taskId: string): TaskId {
  const id = parseTaskId(taskId)
  if (id === null) throw new FootholdError('TASK_NOT_FOUND', { taskId })
  return id
}

async function requireStanding(db: Database, id: TaskId): Promise<store.Standing> {
  const standing = await store.readStanding(db, id)
  if (standing === null) throw new FootholdError('TASK_NOT_FOUND', { taskId: id })
  return standing
}

export function conflict(taskId: TaskId, status: string, wanted: string): FootholdError<'TASK_STATE_CONFLICT'> {
  return new FootholdError('TASK_STATE_CONFLICT', { taskId, status, wanted })
}
