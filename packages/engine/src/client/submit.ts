import { createHash } from 'node:crypto'
import type { Meter } from '../metrics/meter.ts'
import type { Agent, AgentRef } from '../protocol/agent.ts'
import { canonicalJson } from '../protocol/canonical-json.ts'
import { decode, encode } from '../protocol/codec.ts'
import { FootholdError, isFootholdError } from '../protocol/errors.ts'
import type { SubmitOptions } from '../protocol/foothold.ts'
import { checkKey, checkName } from '../protocol/names.ts'
import { checkBySchema } from '../protocol/schema-check.ts'
import type { StandardSchema } from '../protocol/standard-schema.ts'
import type { Queryable, TaskId } from '../protocol/task-context.ts'
import { PRIORITIES } from '../protocol/views.ts'
import type { Database } from '../store/database.ts'
import type { Notifier } from '../store/notify.ts'
import { readAgentNames } from '../store/read-tasks.ts'
import { DEDUPE_DAYS, insertTask, newestHandler, queryableOf, readDedupe, type TaskInsert } from '../store/submit.ts'
import { checkDate, checkOneOf, checkOptionNames, checkWholeNumber } from './arguments.ts'
import { newTaskId } from './new-id.ts'

export interface Submitted {
  readonly id: TaskId
  readonly created: boolean
}

const OPTIONS = ['dedupeKey', 'dedupeDays', 'priority', 'tenant', 'runAt', 'deadlineAt', 'transaction'] as const
/** A hundred years. */
const DEDUPE_DAYS_MAX = 36_500
/** The columns of a deadline are 32 bits wide: some 24 days. */
const DEADLINE_MS_MAX = 2 ** 31 - 1
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
  const { deadlineAt, dedupeKey, dedupeDays = DEDUPE_DAYS, runAt, tenant = '', priority = 'normal' } = options
  const task: TaskInsert = {
    id: newTaskId(),
    agent: target.name,
    handler: target.handler,
    tenant,
    dedupe: dedupeKey === undefined ? null : { key: dedupeKey, bodyHash: bodyHash(input, stored), days: dedupeDays },
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
  const { dedupeKey, dedupeDays, priority, tenant, runAt, deadlineAt, transaction } = options
  if (dedupeKey !== undefined) checkKey('options.dedupeKey', dedupeKey)
  if (dedupeDays !== undefined) {
    checkWholeNumber('options.dedupeDays', dedupeDays, { min: 1, max: DEDUPE_DAYS_MAX })
    if (dedupeKey === undefined) {
      throw new FootholdError('INVALID_ARGUMENT', { field: 'options.dedupeDays', problem: 'it goes with a dedupeKey' })
    }
  }
  if (tenant !== undefined) checkKey('options.tenant', tenant)
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

interface Target {
  readonly name: string
  readonly handler: string
  readonly deadlineMs: number
  /** Null: only its worker has the schema. */
  readonly code: Agent['~code'] | null
}

async function targetOf(agent: AgentRef<string, never> | string, sql: Queryable, db: Database): Promise<Target> {
  if (typeof agent === 'object' && agent !== null && '~code' in agent) {
    const { name, version, '~code': code } = agent as Agent
    if (!(code.deadlineMs >= 1 && code.deadlineMs <= DEADLINE_MS_MAX)) {
      throw new FootholdError('INVALID_ARGUMENT', {
        field: 'agent.deadlineMs',
        problem: `${code.deadlineMs} is not between 1 and ${DEADLINE_MS_MAX}`,
        cure: 'Give submit() a deadlineAt for a longer time.',
      })
    }
    return { name, handler: `${name}@${version}`, deadlineMs: Math.ceil(code.deadlineMs), code }
  }
  const name = typeof agent === 'string' ? agent : agent?.name
  checkName('agent', name)
  const newest = await newestHandler(sql, name)
  if (newest === null) throw new FootholdError('AGENT_UNKNOWN', { agent: name, known: await readAgentNames(db) })
  return { name, ...newest, code: null }
}

/** What the schema gave, so that defaults and transforms run once; by name the raw input, which the worker checks. */
async function storedInput(
  { name, code }: Target,
  input: unknown,
): Promise<{ readonly text: string; readonly isStable: boolean }> {
  if (code === null) return { text: encode(input, 'input'), isStable: false }
  const checked = await checkBySchema(code.input, input)
  if (checked.kind === 'invalid') throw new FootholdError('INPUT_INVALID', { agent: name, issues: checked.issues })
  const text = encode(checked.value, 'input')
  return { text, isStable: await isStable(code.input, input, text) }
}

/**
 * Whether the schema makes the same of what is stored, so that a worker may check it again and be sure that a refusal
 * means other code. Of a transforming one ("5" to 5) nobody could say.
 */
async function isStable(schema: StandardSchema, input: unknown, text: string): Promise<boolean> {
  try {
    if (encode(input, 'input') === text) return true
    const again = await checkBySchema(schema, decode(text))
    return again.kind === 'valid' && encode(again.value, 'input') === text
  } catch {
    // An input that cannot be stored as it was given, or a schema that breaks at its own results.
    return false
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
