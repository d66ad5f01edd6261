/** A line of the screen as pieces of text with a tone; what a tone looks like is the terminal's or the picture's business. */
export type Tone = 'plain' | 'loud' | 'dim' | 'good' | 'bad' | 'warn' | 'info' | 'key'

export interface Span {
  readonly text: string
  readonly tone: Tone
}

export type Line = readonly Span[]

/** Text of clients and models must not speak to the terminal. */
export function span(text: string, tone: Tone = 'plain'): Span {
  return { text: text.replace(/\p{Cc}/gu, ' ').replace(/[\u200E\u200F\u2028-\u202E\u2066-\u2069]/g, ''), tone }
}

export function widthOf(line: Line): number {
  return line.reduce((width, { text }) => width + charactersOf(text).length, 0)
}

/** Exactly so wide: padded, or cut with an ellipsis. */
export function fit(line: Line, width: number): Line {
  const missing = width - widthOf(line)
  if (missing >= 0) return missing === 0 ? line : [...line, span(' '.repeat(missing))]
  const kept: Span[] = []
  let left = width - 1
  for (const { text, tone } of line) {
    const characters = charactersOf(text)
    kept.push({ text: characters.slice(0, left).join(''), tone })
    left -= characters.length
    if (left <= 0) return width > 0 ? [...kept, span('…', tone)] : []
  }
  return kept
}

export function rightAligned(text: string, width: number, tone: Tone = 'plain'): Span {
  return span(text.padStart(width), tone)
}

export interface Panel {
  readonly title: Line
  readonly lines: readonly Line[]
  readonly width: number
  readonly height: number
  readonly tone?: Tone
}

export function panel({ title, lines, width, height, tone = 'dim' }: Panel): Line[] {
  const inner = width - 4
  const heading = title.length === 0 ? [] : [span(' '), ...title, span(' ')]
  const rule = Math.max(0, width - 3 - widthOf(heading))
  const rows = Array.from({ length: height - 2 }, (_, index) => fit(lines[index] ?? [], inner))
  return [
    fit([span('╭─', tone), ...heading, span(`${'─'.repeat(rule)}╮`, tone)], width),
    ...rows.map((row) => [span('│ ', tone), ...row, span(' │', tone)]),
    [span(`╰${'─'.repeat(width - 2)}╯`, tone)],
  ]
}

export function beside(...columns: readonly (readonly Line[])[]): Line[] {
  const height = Math.max(...columns.map(({ length }) => length))
  return Array.from({ length: height }, (_, index) => columns.flatMap((column) => column[index] ?? []))
}

/** Between words, and inside a word that is longer than a line. */
export function wrap(text: string, width: number): string[] {
  return text.split('\n').flatMap((paragraph) => {
    const lines: string[] = []
    let line = ''
    for (const word of paragraph.split(' ')) {
      let rest = word
      if (line !== '' && line.length + 1 + rest.length <= width) {
        line += ` ${rest}`
        continue
      }
      if (line !== '') lines.push(line)
      for (; rest.length > width; rest = rest.slice(width)) lines.push(rest.slice(0, width))
      line = rest
    }
    return [...lines, line]
  })
}

function charactersOf(text: string): string[] {
  return Array.from(text)
}
