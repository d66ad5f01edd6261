// Telegram's HTML, checked as the server does: known tags only, closed in order, a few named entities. The limit of a
// message counts what is left after this, in UTF-16 units.

const TAGS = new Set([
  'b',
  'strong',
  'i',
  'em',
  'u',
  'ins',
  's',
  'strike',
  'del',
  'span',
  'tg-spoiler',
  'tg-emoji',
  'a',
  'code',
  'pre',
  'blockquote',
])

const ENTITIES: Readonly<Record<string, string>> = { lt: '<', gt: '>', amp: '&', quot: '"' }

const TAG_OR_ENTITY = /<([^>]*)>|<|&(#x[0-9a-f]+|#\d+|[a-z]+);/gi

export type ParsedText =
  | { readonly kind: 'parsed'; readonly text: string }
  | { readonly kind: 'broken'; readonly problem: string }

export function parseHtml(source: string): ParsedText {
  const open: string[] = []
  let problem: string | null = null
  const text = source.replace(
    TAG_OR_ENTITY,
    (token, tag: string | undefined, entity: string | undefined, at: number) => {
      if (entity !== undefined) return decodeEntity(entity) ?? token
      problem ??= tagProblem(tag, open, () => Buffer.byteLength(source.slice(0, at)))
      return ''
    },
  )
  if (problem !== null) return { kind: 'broken', problem }
  const unclosed = open.at(-1)
  if (unclosed !== undefined) {
    return { kind: 'broken', problem: `Can't find end tag corresponding to start tag "${unclosed}"` }
  }
  return { kind: 'parsed', text }
}

/** Keeps the stack of open tags; a string is what the server would complain of. */
function tagProblem(tag: string | undefined, open: string[], byteOffset: () => number): string | null {
  if (tag === undefined) return `Unclosed start tag at byte offset ${byteOffset()}`
  const [, slash, name = '', attributes = ''] = /^(\/?)([a-z][a-z0-9-]*)?\s*([\s\S]*)$/i.exec(tag) ?? []
  const lower = name.toLowerCase()
  if (slash === '/') {
    const expected = open.pop()
    if (expected === undefined) return `Unexpected end tag at byte offset ${byteOffset()}`
    if (expected === lower) return null
    return `Unmatched end tag at byte offset ${byteOffset()}, expected "</${expected}>", found "</${lower}>"`
  }
  if (lower === '') return `Unexpected character after "<" at byte offset ${byteOffset()}`
  if (!TAGS.has(lower)) return `Unsupported start tag "${lower}" at byte offset ${byteOffset()}`
  if (lower === 'span' && !/class\s*=\s*["']?tg-spoiler/.test(attributes)) {
    return `Tag "span" must have class "tg-spoiler" at byte offset ${byteOffset()}`
  }
  open.push(lower)
  return null
}

function decodeEntity(entity: string): string | null {
  if (!entity.startsWith('#')) return ENTITIES[entity] ?? null
  const code = /^#x/i.test(entity) ? Number.parseInt(entity.slice(2), 16) : Number.parseInt(entity.slice(1), 10)
  return code > 0 && code <= 0x10ffff ? String.fromCodePoint(code) : null
}
