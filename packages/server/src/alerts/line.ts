/**
 * A line of a message: our words, and what is quoted in them. Quoted is all that comes from tasks: mails, models and
 * errors of others, which must neither mark up the message, nor call people, nor carry an address with its secret.
 */
export interface Part {
  readonly kind: 'words' | 'quoted'
  readonly text: string
}

export type Line = readonly Part[]

/** ``line`step ${key} failed ${3} times` ``: a string is quoted, a number or a line goes in as it is. */
export function line(words: TemplateStringsArray, ...values: readonly (string | number | Line)[]): Line {
  return words.flatMap((text, index) => [...said(text), ...(index < values.length ? partsOf(values[index] ?? '') : [])])
}

/** Text that we have made ourselves. */
export function said(text: string): Line {
  return text === '' ? [] : [{ kind: 'words', text }]
}

export function joined(lines: readonly Line[], between: string): Line {
  return lines.flatMap((one, index) => (index === 0 ? one : [...said(between), ...one]))
}

export function plain(one: Line): string {
  return one.map(({ text }) => text).join('')
}

function partsOf(value: string | number | Line): Line {
  if (typeof value === 'number') return said(String(value))
  return typeof value === 'string' ? [{ kind: 'quoted', text: quotable(value) }] : value
}

const QUOTED_CHARACTERS_MAX = 300
/** What moves the cursor, turns the direction of writing or has no sign at all. */
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\u2028\u2029]+/gu
/** User, password and everything behind the host: tokens stand there. */
const ADDRESS = /\b([a-z][a-z0-9+.-]*:\/\/)(?:[^\s/@"'<>]*@)?([^\s/?#"'<>@]+)(?:[/?#][^\s"'<>]*)?/giu

function quotable(text: string): string {
  const clean = text
    .slice(0, QUOTED_CHARACTERS_MAX * 4)
    .replace(ADDRESS, '$1$2/…')
    .replace(INVISIBLE, ' ')
    .trim()
  if (clean.length <= QUOTED_CHARACTERS_MAX) return clean === '' ? '-' : clean
  return `${clean.slice(0, QUOTED_CHARACTERS_MAX - 1).replace(/\p{Cs}$/u, '')}…`
}
