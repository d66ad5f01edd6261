import type { OptionSpec } from './command.ts'
import { UsageError } from './usage-error.ts'

/** What a command is about: exactly one of these options. */
export function oneTargetOf<Target>(
  options: Readonly<Record<string, OptionSpec>>,
  values: Readonly<Record<string, string>>,
  command: string,
): Target {
  const given = Object.keys(options).filter((name) => values[name] !== undefined)
  const [name] = given
  if (name === undefined || given.length > 1) {
    const names = Object.entries(options).map(([each, { value }]) => `--${each} ${value}`)
    throw new UsageError(`Give one of ${names.slice(0, -1).join(', ')} and ${names.at(-1)}.`, command)
  }
  return { [name]: values[name] } as Target
}
