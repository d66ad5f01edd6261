import { createHash } from 'node:crypto'
import type { Meter } from '../metrics/meter.ts'
import type { AgentRef } from '../protocol/agent.ts'
import { canonicalJson } from '../protocol/canonical-json.ts'
import { encode } from '../protocol/codec.ts'
import { FootholdError, isFootholdError } from '../protocol/errors.ts'
import type { SubmitOptions } from '../protocol/foothold.ts'
import { checkKey } from '../protocol/names.ts'
import type { Queryable, TaskId } from '../protocol/task-context.ts'
import { PRIORITIES } from '../protocol/views.ts'
import type { Database } from '../store/database.ts'
import type { Notifier } from '../store/notify.ts'
import { DEDUPE_DAYS, insertTask, queryableOf, readDedupe, type TaskInsert } from '../store/submit.ts'
import { storedInput, targetOf } from '../store/target.ts'
import { checkDate, checkOneOf, checkOptionNames, checkWholeNumber } from './arguments.ts'
import { newTaskId } from './new-id.ts'

export interface Submitted {
  readonly id: TaskId
  readonly created: boolean
}

const OPTIONS = [
  'dedupeKey',
  'dedupeDays',
  'priority',
  'tenant',
  'limitKey',
  'runAt',
  'deadlineAt',
  'transaction',
] as const
/** A hundred years. */
const DEDUPE_DAYS_MAX = 36_500
/** A key changes hands only when it expires or is pruned between two statements; three times in a row is something else. */
const ROUNDS_MAX = 3

export async function submitTask(
  { db, notifier, meter }: { readonly db: Database; readonly notifier: Notifier; readonly meter: Meter },
  agent: AgentRef<string, never> | string,
  input: unknown,
  options: SubmitOptions = {},
): Promise<Submitted> {
  checkSubmitOptions(options)
  const sql = options.transaction ?? queryableOf(db, 'submitting a task')
  const target = await targetOf(agent, sql, db)
  const { text: stored, isStable } = await storedInput(target, input)
  const { deadlineAt, dedupeKey, dedupeDays = DEDUPE_DAYS, runAt, tenant = '', limitKey, priority = 'normal' } = options
  const task: TaskInsert = {
    id: newTaskId(),
    agent: target.name,
    handler: target.handler,
    tenant,
    dedupe: dedupeKey === undefined ? null : { key: dedupeKey, bodyHash: bodyHash(input, stored), days: dedupeDays },
    limitKey: limitKey ?? null,
    priority: PRIORITIES.indexOf(priority),
    input: stored,
    isInputChecked: target.code !== null,
    isInputStable: isStable,
    runAt: runAt ?? null,
    deadline: deadlineAt === undefined ? { afterMs: target.deadlineMs } : { at: deadlineAt },
  }
  const submitted = await insertOnce(sql, task)
  if (submitted.created) meter.submitted(target.name)
  // Inside a caller's transaction nothing is said: it has not committed, and polling finds the task when it has.
  if (submitted.created && options.transaction === undefined) notifier.notify(task.handler)
  return submitted
}

function checkSubmitOptions(options: SubmitOptions): void {
  checkOptionNames('options', options, OPTIONS)
  const { dedupeKey, dedupeDays, priority, tenant, limitKey, runAt, deadlineAt, transaction } = options
  if (dedupeKey !== undefined) checkKey('options.dedupeKey', dedupeKey)
  if (dedupeDays !== undefined) {
    checkWholeNumber('options.dedupeDays', dedupeDays, { min: 1, max: DEDUPE_DAYS_MAX })
    if (dedupeKey === undefined) {
      throw new FootholdError('INVALID_ARGUMENT', { field: 'options.dedupeDays', problem: 'it goes with a dedupeKey' })
    }
  }
  if (tenant !== undefined) checkKey('options.tenant', tenant)
  if (limitKey !== undefined) checkKey('options.limitKey', limitKey)
  if (priority !== undefined) checkOneOf('options.priority', priority, PRIORITIES)
  if (runAt !== undefined) checkDate('options.runAt', runAt)
  if (deadlineAt !== undefined) checkDate('options.deadlineAt', deadlineAt)
  if (runAt !== undefined && deadlineAt !== undefined && deadlineAt <= runAt) {
    throw new FootholdError('INVALID_ARGUMENT', {
      field: 'options.deadlineAt',
      problem: `${deadlineAt.toISOString()} is not after runAt, ${runAt.toISOString()}`,
    })
  }
  if (transaction !== undefined && typeof transaction.query !== 'function') {
    throw new FootholdError('INVALID_ARGUMENT', {
      field: 'options.transaction',
      problem: 'it has no method query(text, values)',
      cure: 'Pass the client on which BEGIN was sent.',
    })
  }
}

/**
 * Of what the producer gave, not of what the schema made of it: a default like the present time would make every
 * repetition another request. Where that cannot be stored (a stream, say), what the schema made of it is all there is.
 */
function bodyHash(input: unknown, stored: string): string {
  let body = stored
  try {
    body = encode(input, 'input')
  } catch (error) {
    if (!isFootholdError(error)) throw error
  }
  return createHash('sha256').update(canonicalJson(body)).digest('hex')
}

async function insertOnce(sql: Queryable, task: TaskInsert): Promise<Submitted> {
  const id = task.id as TaskId
  for (let round = 0; round < ROUNDS_MAX; round += 1) {
    const answer = await insertTask(sql, task, { replaceExpiredKey: round > 0 })
    // Without a key nothing but an earlier try of this very statement can stand in the way.
    if (answer !== 'nothing' || task.dedupe === null) return { id, created: true }
    const entry = await readDedupe(sql, { agent: task.agent, tenant: task.tenant, key: task.dedupe.key })
    if (entry === null || entry.isExpired) continue
    if (entry.taskId === id) return { id, created: true }
    if (entry.bodyHash === task.dedupe.bodyHash) return { id: entry.taskId as TaskId, created: false }
    throw new FootholdError('DEDUPE_CONFLICT', { dedupeKey: task.dedupe.key, taskId: entry.taskId })
  }
  throw new FootholdError('DATABASE_UNAVAILABLE', {
    doing: 'submitting a task whose dedupe key kept expiring',
    waitedMs: 0,
  })
}
