const LONE_SURROGATES = /[\uD800-\uDBFF](?![\uDC00-\uDFFF])|(?<![\uD800-\uDBFF])[\uDC00-\uDFFF]/g
// Tab, line feed and carriage return are text; the other control characters are noise from broken files.
// oxlint-disable-next-line no-control-regex -- control characters are what is looked for
const CONTROLS = /[\u0001-\u0008\u000B\u000C\u000E-\u001F\u007F]/g

/**
 * Text that every column, prompt and message can carry. PostgreSQL's text refuses U+0000 and half a surrogate pair, and
 * a request must not fail for one broken character: both are replaced by characters that say so.
 */
export function readable(text: string): string {
  return text.replaceAll('\0', '\u2400').replace(LONE_SURROGATES, '\uFFFD').replace(CONTROLS, ' ')
}

/** Cuts at a code point, with a note of how much was left out. */
export function cutWithNote(text: string, charactersMax: number): string {
  if (text.length <= charactersMax) return text
  return `${atCodePoint(text, charactersMax)}\n[cut: only the beginning is kept]`
}

/** At most so many UTF-16 units, never half a pair. */
export function atCodePoint(text: string, unitsMax: number): string {
  const cut = text.slice(0, unitsMax)
  return /[\uD800-\uDBFF]$/.test(cut) ? cut.slice(0, -1) : cut
}
