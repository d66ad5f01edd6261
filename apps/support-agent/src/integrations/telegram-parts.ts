/**
 * Cuts a message in Telegram's HTML into pieces that are each accepted. The limit counts UTF-16 units of the text after
 * the markup is taken away; no cut falls inside a tag, an entity or a character; open tags are closed at the end of a
 * piece and opened again in the next. The pieces' texts, put together, are the whole text.
 */
export const TEXT_UNITS_MAX = 4_096
/** Before parsing Telegram takes about 30,000 bytes; five entities per character would pass it first. */
const RAW_BYTES_MAX = 24_000

type Token =
  | { readonly kind: 'open' | 'close'; readonly raw: string; readonly name: string }
  | { readonly kind: 'text'; readonly raw: string; readonly plain: string }

const TOKEN = /<(\/?)([a-z][a-z0-9-]*)(?:\s[^<>]*)?>|&(?:#\d{1,7}|#x[0-9a-f]{1,6}|[a-z]{2,8});|[\s\S]/giu

export function htmlParts(html: string, unitsMax: number = TEXT_UNITS_MAX): string[] {
  const parts: string[] = []
  let piece = new Piece([])
  for (const token of tokens(html)) {
    if (token.kind === 'text' && !piece.hasRoomFor(token, unitsMax)) {
      const kept = piece.tokens.slice(0, cutIndex(piece, unitsMax))
      const stillOpen = openAfter(kept)
      parts.push(join(kept) + closing(stillOpen))
      const rest = piece.tokens.slice(kept.length)
      piece = new Piece(stillOpen)
      for (const moved of rest) piece.add(moved)
    }
    piece.add(token)
  }
  parts.push(join(piece.tokens) + closing(piece.open))
  return parts.filter((part) => plainText(part).trim() !== '')
}

/** A message under way, with its sizes counted along. */
class Piece {
  readonly tokens: Token[]
  readonly open: Token[]
  /** Tags carried over from the piece before; no cut falls between them. */
  readonly carried: number
  #units = 0
  #rawBytes = 0

  constructor(carried: readonly Token[]) {
    this.tokens = [...carried]
    this.open = [...carried]
    this.carried = carried.length
    this.#rawBytes = Buffer.byteLength(join(carried))
  }

  add(token: Token): void {
    this.tokens.push(token)
    this.#units += unitsOf(token)
    this.#rawBytes += Buffer.byteLength(token.raw)
    if (token.kind === 'open') this.open.push(token)
    else if (token.kind === 'close') closeLast(this.open, token.name)
  }

  hasRoomFor(token: Token, unitsMax: number): boolean {
    const rawBytes = this.#rawBytes + Buffer.byteLength(token.raw + closing(this.open))
    return this.#units + unitsOf(token) <= unitsMax && rawBytes <= RAW_BYTES_MAX
  }
}

/** The text without its markup: what is sent when Telegram cannot parse the markup. */
export function plainText(html: string): string {
  return tokens(html)
    .map((t) => (t.kind === 'text' ? t.plain : ''))
    .join('')
}

function tokens(html: string): Token[] {
  return [...html.matchAll(TOKEN)].map((match): Token => {
    const [raw, slash, name] = match
    if (name !== undefined) return { kind: slash === '/' ? 'close' : 'open', raw, name: name.toLowerCase() }
    return { kind: 'text', raw, plain: entity(raw) }
  })
}

const ENTITIES: Readonly<Record<string, string>> = { '&amp;': '&', '&lt;': '<', '&gt;': '>', '&quot;': '"' }

function entity(raw: string): string {
  if (raw.length < 3 || raw[0] !== '&') return raw
  const known = ENTITIES[raw.toLowerCase()]
  if (known !== undefined) return known
  const code = raw[2] === 'x' || raw[2] === 'X' ? Number.parseInt(raw.slice(3, -1), 16) : Number(raw.slice(2, -1))
  return raw[1] === '#' && code > 0 && code <= 0x10ffff ? String.fromCodePoint(code) : raw
}

function join(piece: readonly Token[]): string {
  return piece.map((token) => token.raw).join('')
}

function unitsOf(token: Token): number {
  return token.kind === 'text' ? token.plain.length : 0
}

/** After the last paragraph, line or word that leaves the piece at least half full; else right here. */
function cutIndex({ tokens: piece, carried }: Piece, unitsMax: number): number {
  for (const isBreak of [isParagraph, isLine, isSpace]) {
    let unitsAfter = 0
    for (let index = piece.length - 1; index >= carried && unitsAfter * 2 < unitsMax; index -= 1) {
      if (isBreak(piece, index)) return index + 1
      unitsAfter += unitsOf(piece[index] as Token)
    }
  }
  return piece.length
}

function isParagraph(piece: readonly Token[], index: number): boolean {
  return isLine(piece, index) && isLine(piece, index - 1)
}

function isLine(piece: readonly Token[], index: number): boolean {
  return piece[index]?.raw === '\n'
}

function isSpace(piece: readonly Token[], index: number): boolean {
  return piece[index]?.raw === ' ' || isLine(piece, index)
}

function openAfter(piece: readonly Token[]): Token[] {
  const open: Token[] = []
  for (const token of piece) {
    if (token.kind === 'open') open.push(token)
    else if (token.kind === 'close') closeLast(open, token.name)
  }
  return open
}

function closeLast(open: Token[], name: string): void {
  const index = open.findLastIndex((t) => t.kind === 'open' && t.name === name)
  if (index !== -1) open.splice(index, 1)
}

function closing(open: readonly Token[]): string {
  return [...open]
    .reverse()
    .map((t) => (t.kind === 'open' ? `</${t.name}>` : ''))
    .join('')
}
