export interface SourceText {
  /** The code without comments, each string replaced by its number in `strings`, as in `from "3"`. */
  readonly code: string
  /** What stands in string and template literals; a template's holes read as `?`. */
  readonly strings: readonly string[]
}

// A slash after one of these begins a regular expression; after a name, a number or a closing bracket it divides, and
// after `<` it closes a tag.
const BEFORE_REGEX = /(?:^|[(,=:[!&|?{};+\-*%~^>]|\b(?:return|typeof|case|in|of|await|yield))\s*$/

/** Tells code, strings and comments apart, so that a rule about imports is not fooled by a text about imports. */
export function readSourceText(text: string): SourceText {
  const strings: string[] = []
  const scanner = new Scanner(text, strings)
  return { code: scanner.code(undefined), strings }
}

class Scanner {
  readonly #text: string
  readonly #strings: string[]
  #at = 0

  constructor(text: string, strings: string[]) {
    this.#text = text
    this.#strings = strings
  }

  /** Up to the end, or up to the brace that closes a template's hole. */
  code(end: '}' | undefined): string {
    let out = ''
    let depth = 0
    while (this.#at < this.#text.length) {
      const char = this.#text[this.#at] ?? ''
      if (end !== undefined && char === end && depth === 0) return out
      if (char === '{') depth += 1
      if (char === '}') depth -= 1
      out += this.#token(char, out)
    }
    return out
  }

  #token(char: string, before: string): string {
    if (this.#text.startsWith('//', this.#at)) return this.#skipTo('\n')
    if (this.#text.startsWith('/*', this.#at)) return this.#skipPast('*/')
    if (char === '"' || char === "'") return this.#string(char)
    if (char === '`') return this.#template()
    if (char === '/' && BEFORE_REGEX.test(before.slice(-20))) return this.#regex()
    this.#at += 1
    return char
  }

  #string(quote: string): string {
    const start = this.#at + 1
    for (let at = start; at < this.#text.length; at += 1) {
      const char = this.#text[at]
      if (char === '\\') at += 1
      else if (char === quote) {
        this.#at = at + 1
        return this.#keep(this.#text.slice(start, at))
      } else if (char === '\n') break
    }
    // An apostrophe in a text that is no string, as between JSX tags.
    this.#at = start
    return ' '
  }

  #template(): string {
    this.#at += 1
    let text = ''
    let holes = ''
    while (this.#at < this.#text.length) {
      const char = this.#text[this.#at] ?? ''
      if (char === '\\') {
        text += this.#text.slice(this.#at, this.#at + 2)
        this.#at += 2
      } else if (char === '`') {
        this.#at += 1
        break
      } else if (this.#text.startsWith('${', this.#at)) {
        this.#at += 2
        holes += `,${this.code('}')}`
        this.#at += 1
        text += '?'
      } else {
        text += char
        this.#at += 1
      }
    }
    const kept = this.#keep(text)
    return holes === '' ? kept : `(${kept}${holes})`
  }

  #regex(): string {
    let isInClass = false
    for (this.#at += 1; this.#at < this.#text.length; this.#at += 1) {
      const char = this.#text[this.#at]
      if (char === '\\') this.#at += 1
      else if (char === '[') isInClass = true
      else if (char === ']') isInClass = false
      else if (char === '\n' || (char === '/' && !isInClass)) break
    }
    this.#at += 1
    return 'REGEX'
  }

  #keep(text: string): string {
    this.#strings.push(text)
    return `"${this.#strings.length - 1}"`
  }

  #skipTo(stop: string): string {
    const end = this.#text.indexOf(stop, this.#at)
    this.#at = end === -1 ? this.#text.length : end
    return ''
  }

  #skipPast(stop: string): string {
    this.#skipTo(stop)
    this.#at += stop.length
    return ' '
  }
}
