// The one trap of MarkdownV2 that loses messages: a reserved character that opens nothing must carry a backslash.

import type { ParsedText } from './html.ts'

const PAIRED = new Set(['*', '_', '__', '~', '||', '`', '```'])
const RESERVED = new Set('_*[]()~`>#+-=|{}.!')
const LINK = /^\[((?:\\.|[^\]\\])*)\]\((?:\\.|[^)\\])*\)/

export function parseMarkdownV2(source: string): ParsedText {
  const open: string[] = []
  let text = ''
  let at = 0
  while (at < source.length) {
    const rest = source.slice(at)
    const link = open.at(-1)?.startsWith('`') === true ? null : LINK.exec(rest)
    const token = /^(?:```|__|\|\|)/.exec(rest)?.[0] ?? (rest[0] as string)
    const inCode = open.at(-1)?.startsWith('`') === true
    if (token === '\\' && at + 1 < source.length) {
      text += source[at + 1]
      at += 2
    } else if (link !== null) {
      text += link[1] ?? ''
      at += link[0].length
    } else if (open.at(-1) === token) {
      open.pop()
      at += token.length
    } else if (!inCode && PAIRED.has(token)) {
      open.push(token)
      at += token.length
    } else if (!inCode && RESERVED.has(token) && !isQuoteMark(source, at)) {
      const problem = `Character '${token}' is reserved and must be escaped with the preceding '\\'`
      return { kind: 'broken', problem }
    } else {
      text += token
      at += token.length
    }
  }
  const unclosed = open.at(-1)
  if (unclosed === undefined) return { kind: 'parsed', text }
  return { kind: 'broken', problem: `Can't find end of the entity starting with "${unclosed}"` }
}

function isQuoteMark(source: string, at: number): boolean {
  return source[at] === '>' && (at === 0 || source[at - 1] === '\n')
}
