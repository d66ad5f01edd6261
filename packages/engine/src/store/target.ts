import type { Agent, AgentRef } from '../protocol/agent.ts'
import { decode, encode } from '../protocol/codec.ts'
import { FootholdError } from '../protocol/errors.ts'
import { checkName } from '../protocol/names.ts'
import { checkBySchema } from '../protocol/schema-check.ts'
import type { StandardSchema } from '../protocol/standard-schema.ts'
import type { Queryable } from '../protocol/task-context.ts'
import type { Database } from './database.ts'
import { readAgentNames } from './read-tasks.ts'
import { newestHandler } from './submit.ts'

/** Where a new task goes: the handler of the agent's code, or, by name alone, the newest that any worker has registered. */
export interface Target {
  readonly name: string
  readonly handler: string
  readonly deadlineMs: number
  /** Null: only its worker has the schema. */
  readonly code: Agent['~code'] | null
}

/** The columns of a deadline are 32 bits wide: some 24 days. */
const DEADLINE_MS_MAX = 2 ** 31 - 1

export async function targetOf(agent: AgentRef<string, never> | string, sql: Queryable, db: Database): Promise<Target> {
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

export interface StoredInput {
  /** JSON text. */
  readonly text: string
  readonly isStable: boolean
}

/** What the schema gave, so that defaults and transforms run once; by name the raw input, which the worker checks. */
export async function storedInput({ name, code }: Target, input: unknown): Promise<StoredInput> {
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
