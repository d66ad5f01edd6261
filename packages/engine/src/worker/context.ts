import type { AgentRef, Signal } from '../protocol/agent.ts'
import type { ApprovalQuestion } from '../protocol/approvals.ts'
import { FootholdError } from '../protocol/errors.ts'
import { checkKey } from '../protocol/names.ts'
import type {
  ChildOptions,
  ChildrenOptions,
  Effect,
  Queryable,
  StepContext,
  StepOptions,
  StoppingEffect,
  TaskContext,
  TaskId,
} from '../protocol/task-context.ts'
import { PRIORITIES } from '../protocol/views.ts'
import type { Database } from '../store/database.ts'
import { runApproval } from './approval.ts'
import { runChild, runChildren } from './children.ts'
import { runEffect } from './effect-runner.ts'
import type { Execution } from './execution.ts'
import { runStep } from './step-runner.ts'
import { runTransaction } from './transaction-runner.ts'
import { runSleep, runWaitForSignal } from './waits.ts'

/** What the agent's function is given: checks arguments, then hands over to the runner of each kind. */
export function createTaskContext(
  execution: Execution,
  identity: { readonly agent: string; readonly version: number },
  sessions: Database,
  /** The database's time, which worker clocks may be hours away from. */
  databaseNowMs: () => number,
): TaskContext {
  const { task } = execution
  const context = {
    id: task.id as TaskId,
    agent: identity.agent,
    version: identity.version,
    attempt: task.attempt,
    tenant: task.tenant === '' ? null : task.tenant,
    tickAt: task.tickAt === null ? null : new Date(task.tickAt),
    signal: execution.controller.signal,

    step: entry(execution, async (key: string, run: (context: StepContext) => unknown, options: StepOptions = {}) => {
      checkKey('step key', key)
      checkFunction('step', key, run)
      checkOptions(`step ${key}`, options)
      return runStep(execution, key, run, options)
    }),
    transaction: entry(
      execution,
      async (
        key: string,
        run: (sql: Queryable, context: StepContext) => Promise<unknown>,
        options: StepOptions = {},
      ) => {
        checkKey('step key', key)
        checkFunction('transaction', key, run)
        checkOptions(`transaction ${key}`, options)
        return runTransaction(execution, sessions, key, run, options)
      },
    ),
    effect: entry(
      execution,
      async (key: string, effect: Effect<unknown, unknown> | StoppingEffect<unknown, unknown>) => {
        checkKey('step key', key)
        checkEffect(key, effect)
        return runEffect(execution, key, effect)
      },
    ),
    sleep: entry(execution, async (key: string, forMs: number) => {
      checkKey('step key', key)
      checkDuration(`sleep ${key}`, forMs)
      await runSleep(execution, key, () => forMs)
    }),
    sleepUntil: entry(execution, async (key: string, at: Date) => {
      checkKey('step key', key)
      const forMs = at.getTime() - databaseNowMs()
      checkDuration(`sleepUntil ${key}`, forMs)
      await runSleep(execution, key, () => forMs)
    }),
    waitForSignal: entry(
      execution,
      async (key: string, signal: Signal<unknown>, options?: { readonly timeoutMs: number }) => {
        checkKey('step key', key)
        if (options !== undefined) checkDuration(`waitForSignal ${key}.timeoutMs`, options.timeoutMs)
        return runWaitForSignal(execution, key, signal.name, options?.timeoutMs ?? null)
      },
    ),
    approval: entry(execution, async (key: string, question: ApprovalQuestion) => {
      checkKey('step key', key)
      checkQuestion(`approval ${key}`, question)
      return runApproval(execution, key, question)
    }),
    child: entry(
      execution,
      async (key: string, agent: AgentRef<string, never>, input: unknown, options: ChildOptions = {}) => {
        checkKey('step key', key)
        checkChildOptions(`child ${key}`, options)
        return runChild(execution, key, agent, input, options)
      },
    ),
    children: entry(
      execution,
      async (key: string, agent: AgentRef<string, never>, inputs: readonly unknown[], options: ChildrenOptions) => {
        checkKey('step key', key)
        checkChildren(key, inputs, options)
        return runChildren(execution, key, agent, inputs, options)
      },
    ),
  } satisfies Record<keyof TaskContext, unknown>
  // The implementation knows values, the surface knows their types.
  return context as unknown as TaskContext
}

/**
 * Every call of the agent's function enters here.
 * - A refusal comes with the next turn of the event loop: code that catches it and calls again keeps nobody else waiting.
 * - A promise that nobody awaits, for instance because another branch failed first, must not end the process when it
 *   rejects: what it stands for is stored with the task.
 */
function entry<Arguments extends unknown[], Result>(
  execution: Execution,
  call: (...args: Arguments) => Promise<Result>,
): (...args: Arguments) => Promise<Result> {
  return function entrance(...args) {
    execution.entrance = entrance
    const answer = execution.isEnded ? execution.refuse().then(() => call(...args)) : call(...args).catch(nextTurn)
    answer.catch(() => undefined)
    return answer
  }
}

async function nextTurn(error: unknown): Promise<never> {
  await new Promise((resolve) => setImmediate(resolve))
  throw error
}

function checkFunction(kind: string, key: string, run: unknown): void {
  if (typeof run === 'function') return
  throw new FootholdError('INVALID_ARGUMENT', {
    field: `${kind} ${key}`,
    problem: 'its second argument is not a function',
  })
}

/** setTimeout fires at once for more. */
const TIMEOUT_MS_MAX = 2 ** 31 - 1

function checkOptions(field: string, { timeoutMs, version, retry = {} }: StepOptions): void {
  if (timeoutMs !== undefined && !(timeoutMs > 0 && timeoutMs <= TIMEOUT_MS_MAX)) {
    throw new FootholdError('INVALID_ARGUMENT', {
      field: `${field}.timeoutMs`,
      problem: `${String(timeoutMs)} is not between 1 and ${TIMEOUT_MS_MAX}`,
    })
  }
  if (version !== undefined && !(Number.isInteger(version) && version >= 1)) {
    throw new FootholdError('INVALID_ARGUMENT', {
      field: `${field}.version`,
      problem: `${String(version)} is not a whole number of 1 or more`,
    })
  }
  for (const [name, value] of Object.entries(retry)) {
    const max = name === 'attemptsMax' ? Number.POSITIVE_INFINITY : TIMEOUT_MS_MAX
    if (value !== undefined && !(value >= 0 && value <= max)) {
      throw new FootholdError('INVALID_ARGUMENT', {
        field: `${field}.retry.${name}`,
        problem: `${String(value)} is not a number from 0 to ${max}`,
      })
    }
  }
}

/** A hundred years: nobody waits longer, and PostgreSQL's time ends somewhere. */
const DURATION_MS_MAX = 3_153_600_000_000

function checkDuration(field: string, ms: unknown): void {
  if (typeof ms === 'number' && ms <= DURATION_MS_MAX) return
  throw new FootholdError('INVALID_ARGUMENT', {
    field,
    problem: `${String(ms)} is not a number of milliseconds up to ${DURATION_MS_MAX}`,
  })
}

/** The compiler says the same; JavaScript has no compiler. */
function checkEffect(key: string, effect: Effect<unknown, unknown> | StoppingEffect<unknown, unknown>): void {
  const field = `effect ${key}`
  checkOptions(field, effect)
  checkFunction('effect', key, (effect as { readonly send?: unknown } | null)?.send)
  if (effect.onDoubt === undefined && effect.keyWindowMs === undefined && !('find' in effect)) {
    throw new FootholdError('INVALID_ARGUMENT', {
      field,
      problem: 'nothing says what an unknown outcome means',
      cure: "Give keyWindowMs, or find with findLagMs, or onDoubt: 'repeat', 'stop' or 'ask'.",
    })
  }
  if (effect.keyWindowMs !== undefined) checkDuration(`${field}.keyWindowMs`, effect.keyWindowMs)
  if ('findLagMs' in effect) checkDuration(`${field}.findLagMs`, effect.findLagMs)
}

function checkChildOptions(field: string, { priority, tenant }: ChildOptions): void {
  if (tenant !== undefined) checkKey(`${field}.tenant`, tenant)
  if (priority === undefined || PRIORITIES.includes(priority)) return
  throw new FootholdError('INVALID_ARGUMENT', {
    field: `${field}.priority`,
    problem: `${String(priority)} is none of ${PRIORITIES.join(', ')}`,
  })
}

/** All of them are steps of one task, and read at each of its attempts. */
const CHILDREN_MAX = 10_000
const AT_ONCE_MAX = 1_000

function checkChildren(key: string, inputs: readonly unknown[], options: ChildrenOptions): void {
  checkChildOptions(`children ${key}`, options)
  if (!Array.isArray(inputs) || inputs.length > CHILDREN_MAX) {
    throw new FootholdError('INVALID_ARGUMENT', {
      field: `children ${key}.inputs`,
      problem: Array.isArray(inputs)
        ? `it has ${inputs.length} entries, the limit is ${CHILDREN_MAX}`
        : 'it is no array',
      cure: 'Give each child a part of them, and let it have children of its own.',
    })
  }
  const { atOnce } = options
  if (Number.isInteger(atOnce) && atOnce >= 1 && atOnce <= AT_ONCE_MAX) return
  throw new FootholdError('INVALID_ARGUMENT', {
    field: `children ${key}.atOnce`,
    problem: `${String(atOnce)} is not a whole number from 1 to ${AT_ONCE_MAX}`,
  })
}

const TITLE_CHARACTERS_MAX = 200
const DETAILS_CHARACTERS_MAX = 10_000

function checkQuestion(field: string, { title, details, timeoutMs }: ApprovalQuestion): void {
  checkLength(`${field}.title`, title, TITLE_CHARACTERS_MAX)
  if (details !== undefined) checkLength(`${field}.details`, details, DETAILS_CHARACTERS_MAX)
  if (timeoutMs !== undefined) checkDuration(`${field}.timeoutMs`, timeoutMs)
}

function checkLength(field: string, text: unknown, charactersMax: number): void {
  if (typeof text === 'string' && text.length > 0 && text.length <= charactersMax) return
  throw new FootholdError('INVALID_ARGUMENT', {
    field,
    problem: typeof text === 'string' ? `it has ${text.length} characters, not 1 to ${charactersMax}` : 'it is no text',
  })
}
