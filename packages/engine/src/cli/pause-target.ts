import type { PauseTarget } from '../protocol/pauses.ts'
import type { OptionSpec } from './command.ts'
import { oneTargetOf } from './one-target.ts'

/** What `pause` and `unpause` are about: exactly one of three options. */
export const TARGET_OPTIONS: Readonly<Record<string, OptionSpec>> = {
  agent: { value: '<name>', about: 'of this agent only' },
  tenant: { value: '<tenant>', about: 'of this tenant only' },
  release: { value: '<label>', about: 'of workers of this release only' },
}

export function targetOf(values: Readonly<Record<string, string>>, command: string): PauseTarget {
  return oneTargetOf<PauseTarget>(TARGET_OPTIONS, values, command)
}
