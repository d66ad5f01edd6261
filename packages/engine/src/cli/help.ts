import { GLOBAL_OPTIONS } from './arguments.ts'
import type { Command, OptionSpec } from './command.ts'
import { fieldLines } from './table.ts'

export function overview(commands: readonly Command[], topic: string): string {
  const shown = topic === '' ? commands : commands.filter(({ name }) => name.startsWith(`${topic} `))
  return [
    `usage: foothold ${topic === '' ? '<command>' : `${topic} <what>`} [options]`,
    '',
    ...indented(shown.map((command) => [usageOf(command), command.summary])),
    '',
    'Every command takes:',
    ...indented(optionFields(GLOBAL_OPTIONS)),
    '',
    'foothold <command> --help says more. Exit codes: 0 done, 1 failed, 2 wrong usage, 130 and 143 stopped by a signal.',
  ].join('\n')
}

export function helpOf(command: Command): string {
  const options = { ...command.options, ...GLOBAL_OPTIONS }
  return [
    `usage: foothold ${usageOf(command)} [options]`,
    '',
    `${command.summary}.`,
    ...(command.details === undefined ? [] : ['', command.details]),
    '',
    ...indented([
      ...command.arguments.map(({ name, about }) => [`<${name}>`, about] as const),
      ...optionFields(options),
    ]),
  ].join('\n')
}

function usageOf(command: Command): string {
  return [command.name, ...command.arguments.map(({ name }) => `<${name}>`)].join(' ')
}

function optionFields(options: Readonly<Record<string, OptionSpec>>): (readonly [string, string])[] {
  return Object.entries(options).map(([name, { value, about }]) => [
    `--${name}${value === undefined ? '' : ` ${value}`}`,
    about,
  ])
}

function indented(fields: readonly (readonly [string, string])[]): string[] {
  return fieldLines(fields).map((line) => `  ${line}`)
}
