import { PAUSE_KINDS, type PauseTarget } from '../protocol/pauses.ts'
import type { OptionSpec } from './command.ts'
import { UsageError } from './usage-error.ts'

/** What `pause` and `unpause` are about: exactly one of three options. */
export const TARGET_OPTIONS: Readonly<Record<string, OptionSpec>> = {
  agent: { value: '<name>', about: 'of this agent only' },
  tenant: { value: '<tenant>', about: 'of this tenant only' },
  release: { value: '<label>', about: 'of workers of this release only' },
}

export function targetOf(values: Readonly<Record<string, string>>, command: string): PauseTarget {
  const given = PAUSE_KINDS.filter((kind) => values[kind] !== undefined)
  const [kind] = given
  if (kind === undefined || given.length > 1) {
    throw new UsageError('Give one of --agent <name>, --tenant <tenant> and --release <label>.', command)
  }
  return { [kind]: values[kind] } as unknown as PauseTarget
}
