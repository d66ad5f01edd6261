import type { AlertMessage } from 'foothold'
import { type Line, line, plain, said } from './line.ts'
import { type Language, WORDS } from './words.ts'

/** A message in words: the most urgent first, so that a phone's preview tells what it is. */
export interface AlertText {
  readonly title: string
  readonly lines: readonly Line[]
  readonly commands: readonly string[]
  /** The same in every version of one message: two with one tag are one alarm. */
  readonly tag: string
}

export function alertText(message: AlertMessage, language: Language, mayBeRepeated = false): AlertText {
  const words = WORDS[language]
  const { id, status, agent, reason, tasks, commands } = message
  const tag = `#alert_${id}`
  if (reason === 'handler_unknown') {
    const isOpen = status === 'open'
    const title = isOpen ? `🔴 ${agent} · ${reason}` : `✅ ${agent} · ${reason}: ${words.resolved}`
    return { title, lines: isOpen ? [words.unknown(message)] : [words.known(message)], commands, tag }
  }
  if (status === 'resolved') {
    return { title: `✅ ${agent} · ${reason}: ${words.resolved}`, lines: [words.ended(message)], commands: [], tag }
  }
  const lines = [
    words.counted(message),
    ...(tasks.standing === tasks.total ? [] : [words.moved(tasks)]),
    words.why(reason),
    ...message.errors
      .slice(0, ERRORS_MAX)
      .map((error) => words.error({ ...error, message: withoutClass(error.message) })),
    words.release(message.release),
    words.effects(message.effects, message.examined),
    words.followUps(message.followUps),
    words.repeats(message.repeats),
    ...(mayBeRepeated ? [said(words.mayBeRepeated)] : []),
  ]
  return { title: `🔴 ${agent} · ${reason}`, lines, commands, tag }
}

const ERRORS_MAX = 3

/** For people the class of an error says nothing that its text does not. */
function withoutClass(message: string): string {
  return message.replace(/^[A-Z]\w*Error: /, '')
}

export function plainText({ title, lines, commands, tag }: AlertText): string {
  return [title, ...lines.map(plain), ...commands, tag].join('\n')
}

export function htmlText(text: AlertText): string {
  const title = [{ kind: 'words', text: text.title }] as const
  return [
    `<b>${htmlOf(title)}</b>`,
    ...text.lines.map(htmlOf),
    ...text.commands.map((command) => htmlOf(line`${command}`)),
    htmlOf(said(text.tag)),
  ].join('\n')
}

/** In code nothing is taken for a mention, a command or a link. */
function htmlOf(parts: Line): string {
  return parts.map(({ kind, text }) => (kind === 'quoted' ? `<code>${escaped(text)}</code>` : escaped(text))).join('')
}

function escaped(text: string): string {
  return text.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;')
}
