import { FootholdError } from './errors.ts'
import { checkName } from './names.ts'
import type { InputOf, OutputOf, StandardSchema } from './standard-schema.ts'
import type { Stored } from './stored.ts'
import type { RetryPolicy, TaskContext, TaskId } from './task-context.ts'

export interface AgentRef<Name extends string = string, Input = never, Output = unknown> {
  readonly name: Name
  readonly '~types'?: { readonly input: (value: Input) => void; readonly output: Output }
}

export interface Agent<Name extends string = string, Input = never, Output = unknown>
  extends AgentRef<Name, Input, Output> {
  readonly version: number
  readonly continues: readonly number[]
  /** The agent's code as the worker calls it; not part of the contract. */
  readonly '~code': AgentCode
}

export interface DeadLetter {
  readonly id: TaskId
  readonly reason: string
  readonly error: { readonly code: string; readonly message: string }
}

export interface AgentCode {
  readonly input: StandardSchema
  readonly retry: RetryPolicy
  readonly deadlineMs: number
  readonly reasons: readonly string[]
  readonly run: (task: TaskContext, input: unknown) => Promise<unknown>
  readonly onDeadLetter: ((task: TaskContext, input: unknown, deadLetter: DeadLetter) => Promise<unknown>) | null
}

export interface AgentOptions<Name extends string, Input extends StandardSchema, Output> {
  readonly name: Name
  /** Default 1. Raise it when tasks under way cannot go on with the new code. */
  readonly version?: number | undefined
  /** Older versions whose tasks this code can go on with. */
  readonly continues?: readonly number[] | undefined
  /** Any Standard Schema; checked once, at submit. */
  readonly input: Input
  readonly retry?: RetryPolicy | undefined
  /** From the first claim, and anew after each sleep or wait for a signal or a person. Default 900,000. */
  readonly deadlineMs?: number | undefined
  /** Reasons of its own that its errors may bear, besides `REASONS`: metrics then show them from the start, at 0. */
  readonly reasons?: readonly string[] | undefined
  run(task: TaskContext, input: OutputOf<Input>): Promise<Stored<Output>>
  /** A durable task of its own, created in the dead letter's transaction, so that someone always gets an answer. */
  onDeadLetter?(task: TaskContext, input: OutputOf<Input>, deadLetter: DeadLetter): Promise<unknown>
}

const DEADLINE_MS = 900_000

export function agent<const Name extends string, Input extends StandardSchema, Output>(
  options: AgentOptions<Name, Input, Output>,
): Agent<Name, InputOf<Input>, Output> {
  const { name, version = 1, continues = [], input, retry = {}, deadlineMs = DEADLINE_MS, reasons = [] } = options
  checkName('agent.name', name)
  for (const number of [version, ...continues]) {
    if (!Number.isInteger(number) || number < 1) {
      throw new FootholdError('INVALID_ARGUMENT', {
        field: number === version ? 'agent.version' : 'agent.continues',
        problem: `${String(number)} is not a whole number of 1 or more`,
      })
    }
  }
  for (const reason of reasons) checkName('agent.reasons', reason)
  checkMilliseconds('agent.deadlineMs', deadlineMs, 1)
  checkMilliseconds('agent.retry.firstDelayMs', retry.firstDelayMs, 0)
  checkMilliseconds('agent.retry.delayMaxMs', retry.delayMaxMs, 0)
  return {
    name,
    version,
    continues,
    '~code': {
      input,
      retry,
      deadlineMs: Math.ceil(deadlineMs),
      reasons,
      run: (task, value) => options.run(task, value as OutputOf<Input>),
      onDeadLetter:
        'onDeadLetter' in options
          ? async (task, value, deadLetter) => options.onDeadLetter?.(task, value as OutputOf<Input>, deadLetter)
          : null,
    },
  }
}

/** PostgreSQL's largest int: almost 25 days. */
const MS_MAX = 2 ** 31 - 1

function checkMilliseconds(field: string, value: number | undefined, min: number): void {
  if (value === undefined || (typeof value === 'number' && value >= min && value <= MS_MAX)) return
  throw new FootholdError('INVALID_ARGUMENT', {
    field,
    problem: `${String(value)} is not a number of milliseconds from ${min} to ${MS_MAX}`,
  })
}

/** For a producer that must not import the agent's code: `agentRef<typeof support>('support')`. */
export function agentRef<A extends AgentRef>(
  name: A['name'],
): A extends AgentRef<infer Name, infer Input, infer Output> ? AgentRef<Name, Input, Output> : never {
  checkName('agent.name', name)
  return { name } as never
}

export interface Signal<Payload> {
  readonly name: string
  readonly schema: StandardSchema
  readonly '~payload'?: Payload
}

export function signal<S extends StandardSchema>(name: string, payload: S): Signal<OutputOf<S>> {
  checkName('signal.name', name)
  return { name, schema: payload }
}
