import type { LimitTarget } from '../protocol/limits.ts'
import type { OptionSpec } from './command.ts'
import { oneTargetOf } from './one-target.ts'

/** What a limit is of: exactly one of three options. */
export const LIMIT_OPTIONS: Readonly<Record<string, OptionSpec>> = {
  agent: { value: '<name>', about: "of this agent; '*': of each one without a limit of its own" },
  tenant: { value: '<tenant>', about: 'of this tenant; the same' },
  key: { value: '<key>', about: 'of tasks submitted with this limitKey; the same' },
}

export function limitTargetOf(values: Readonly<Record<string, string>>, command: string): LimitTarget {
  return oneTargetOf<LimitTarget>(LIMIT_OPTIONS, values, command)
}
