import { z } from 'zod'
import { type Agent, agent, type TaskContext } from '../../src/index.ts'

/** An agent that takes anything and does what the test says. */
export function agentOf<Output>(
  run: (task: TaskContext, input: unknown) => Promise<Output>,
  options: {
    readonly name?: string
    readonly version?: number
    readonly continues?: readonly number[]
    readonly deadlineMs?: number
    readonly reasons?: readonly string[]
  } = {},
): Agent<string, unknown, Output> {
  return agent({ name: 'test', ...options, input: z.unknown(), run: run as never })
}
