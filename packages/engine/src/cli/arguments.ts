import { parseArgs } from 'node:util'
import type { Command, Given, OptionSpec } from './command.ts'
import { suggest } from './suggest.ts'
import { UsageError } from './usage-error.ts'

export const GLOBAL_OPTIONS: Readonly<Record<string, OptionSpec>> = {
  url: { value: '<url>', about: 'the database; else DATABASE_URL' },
  json: { about: 'one JSON document instead of text' },
  help: { about: 'this text' },
}

export type Parsed =
  | { readonly kind: 'help'; readonly command: Command | null; readonly topic: string }
  | { readonly kind: 'run'; readonly command: Command; readonly given: Given }

/** Options may stand anywhere; the first words that are none name the command. */
export function parseCommandLine(argv: readonly string[], commands: readonly Command[]): Parsed {
  const { tokens } = parseArgs({
    args: [...argv],
    options: everyOption(commands),
    strict: false,
    allowPositionals: true,
    tokens: true,
  })
  const words = tokens.flatMap((token) => (token.kind === 'positional' ? [token.value] : []))
  const wantsHelp = tokens.some((token) => token.kind === 'option' && token.name === 'help')
  if (words.length === 0 || words[0] === 'help') return help(words.slice(1), commands)
  if (wantsHelp && isTopic(words, commands)) return { kind: 'help', command: null, topic: words[0] as string }

  const command = findCommand(words, commands)
  if (wantsHelp) return { kind: 'help', command, topic: '' }
  const given = { values: {} as Record<string, string>, flags: new Set<string>() }
  for (const token of tokens) if (token.kind === 'option') take(token, command, given)
  const rest = words.slice(command.name.split(' ').length)
  checkCount(rest, command)
  return { kind: 'run', command, given: { command: command.name, arguments: rest, ...given } }
}

function help(words: readonly string[], commands: readonly Command[]): Parsed {
  if (words.length === 0) return { kind: 'help', command: null, topic: '' }
  if (isTopic(words, commands)) return { kind: 'help', command: null, topic: words[0] as string }
  return { kind: 'help', command: findCommand(words, commands), topic: '' }
}

/** `tasks` alone: the first word of several commands and no command itself. */
function isTopic(words: readonly string[], commands: readonly Command[]): boolean {
  return words.length === 1 && commands.some(({ name }) => name.startsWith(`${words[0]} `))
}

function findCommand(words: readonly string[], commands: readonly Command[]): Command {
  const [first = '', second] = words
  const found = commands.find(
    ({ name, aliases = [] }) => name === first || name === `${first} ${second}` || aliases.includes(first),
  )
  if (found !== undefined) return found
  const family = commands.filter(({ name }) => name.startsWith(`${first} `))
  if (family.length > 0) {
    const verbs = family.map(({ name }) => name.slice(first.length + 1))
    if (second === undefined) throw new UsageError(`${first} needs one of: ${verbs.join(', ')}.`, first)
    const meant = suggest(second, verbs)
    const elsewhere = commands.find(({ name }) => name === second)?.name
    const hint = meant === null ? elsewhere : `${first} ${meant}`
    throw new UsageError(`There is no command ${quoted(`${first} ${second}`)}.${didYouMean(hint ?? null)}`, first)
  }
  throw new UsageError(`There is no command ${quoted(first)}.${didYouMean(meantCommand(first, commands))}`)
}

/** `resume` is meant as `tasks resume`. */
function meantCommand(word: string, commands: readonly Command[]): string | null {
  const verb = commands.find(({ name }) => name.endsWith(` ${word}`))
  if (verb !== undefined) return verb.name
  return suggest(word, [...new Set(commands.map(({ name }) => name.split(' ')[0] as string))])
}

type OptionToken = { readonly name: string; readonly rawName: string; readonly value?: string | undefined } & {
  readonly inlineValue?: boolean | undefined
}

function take(
  token: OptionToken,
  command: Command,
  given: { values: Record<string, string>; flags: Set<string> },
): void {
  const { name, rawName, value } = token
  const known = { ...GLOBAL_OPTIONS, ...command.options }
  const spec = Object.hasOwn(known, name) ? known[name] : undefined
  if (spec === undefined) {
    const meant = suggest(name, Object.keys(known))
    const hint = didYouMean(meant === null ? null : `--${meant}`)
    throw new UsageError(`${command.name} has no option ${quoted(rawName)}.${hint}`, command.name)
  }
  if (given.flags.has(name) || Object.hasOwn(given.values, name)) {
    throw new UsageError(`${rawName} is given twice.`, command.name)
  }
  if (spec.value === undefined) {
    if (value !== undefined) throw new UsageError(`${rawName} takes no value.`, command.name)
    given.flags.add(name)
    return
  }
  const isForgotten = value === undefined || (token.inlineValue !== true && /^--[a-z]/.test(value))
  if (isForgotten) {
    throw new UsageError(
      `${rawName} needs a value: ${rawName} ${spec.value}, or ${rawName}=${spec.value}.`,
      command.name,
    )
  }
  given.values[name] = value
}

function checkCount(rest: readonly string[], command: Command): void {
  const missing = command.arguments[rest.length]
  if (missing !== undefined) {
    throw new UsageError(`<${missing.name}> is missing: ${missing.about}.`, command.name)
  }
  const surplus = rest[command.arguments.length]
  if (surplus !== undefined) {
    throw new UsageError(`${quoted(surplus)} is one word too many for ${command.name}.`, command.name)
  }
}

/** The commands share one parser, so an option is a flag or takes a value everywhere alike. */
function everyOption(commands: readonly Command[]): Record<string, { type: 'string' | 'boolean'; short?: string }> {
  const specs = [GLOBAL_OPTIONS, ...commands.map(({ options }) => options)].flatMap((options) =>
    Object.entries(options),
  )
  return Object.fromEntries(
    specs.map(([name, { value }]) => [
      name,
      {
        type: value === undefined ? ('boolean' as const) : ('string' as const),
        ...(name === 'help' ? { short: 'h' } : {}),
      },
    ]),
  )
}

function didYouMean(meant: string | null): string {
  return meant === null ? '' : ` Did you mean ${quoted(meant)}?`
}

function quoted(text: string): string {
  return JSON.stringify(text.slice(0, 100))
}
