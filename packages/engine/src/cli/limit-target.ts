import { LIMIT_KINDS, type LimitTarget } from '../protocol/limits.ts'
import type { OptionSpec } from './command.ts'
import { UsageError } from './usage-error.ts'

/** What a limit is of: exactly one of three options. */
export const LIMIT_OPTIONS: Readonly<Record<string, OptionSpec>> = {
  agent: { value: '<name>', about: "of this agent; '*': of each one without a limit of its own" },
  tenant: { value: '<tenant>', about: 'of this tenant; the same' },
  key: { value: '<key>', about: 'of tasks submitted with this limitKey; the same' },
}

export function limitTargetOf(values: Readonly<Record<string, string>>, command: string): LimitTarget {
  const given = LIMIT_KINDS.filter((kind) => values[kind] !== undefined)
  const [kind] = given
  if (kind === undefined || given.length > 1) {
    throw new UsageError('Give one of --agent <name>, --tenant <tenant> and --key <key>.', command)
  }
  return { [kind]: values[kind] } as unknown as LimitTarget
}
