/**
 * JSON as the API reads it. The language's own parser rounds integers above 2^53 without a word, lets 1e400 become
 * Infinity, and does not always say where a text is broken. Here an integer beyond ±(2^53 - 1) is a bigint, a number
 * that no double can hold is refused, and every refusal names line and column. All else is as JSON.parse has it.
 */
export function parseJson(text: string): unknown {
  return new Parser(text).document()
}

export class JsonTextError extends Error {
  override readonly name: string = 'JsonTextError'
  readonly line: number
  readonly column: number

  constructor(problem: string, text: string, position: number) {
    const before = text.slice(0, position)
    const line = before.split('\n').length
    const column = position - before.lastIndexOf('\n')
    super(`${problem} at line ${line}, column ${column}`)
    this.line = line
    this.column = column
  }
}

/** Recursion stays far from the end of the stack, here and in whatever walks the value later. */
const DEPTH_MAX = 200
/** Turning digits into a bigint is not linear; no id or amount is longer. */
const DIGITS_MAX = 1_000

const SPACE = /[ \t\n\r]*/y
const NUMBER = /-?(?:0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?/y
const WORD = /true|false|null/y
const WORDS: Readonly<Record<string, unknown>> = { true: true, false: false, null: null }
const ESCAPE = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y

class Parser {
  readonly #text: string
  #at = 0
  #depth = 0

  constructor(text: string) {
    this.#text = text
  }

  document(): unknown {
    const value = this.#value()
    this.#skipSpace()
    if (this.#at < this.#text.length) throw this.#unexpected('the end')
    return value
  }

  #value(): unknown {
    this.#skipSpace()
    switch (this.#text.charAt(this.#at)) {
      case '{':
        return this.#nested(() => this.#object())
      case '[':
        return this.#nested(() => this.#array())
      case '"':
        return this.#string()
      case 't':
      case 'f':
      case 'n':
        return this.#word()
      default:
        return this.#number()
    }
  }

  #nested<T>(read: () => T): T {
    if (++this.#depth > DEPTH_MAX) throw this.#error(`Nesting deeper than ${DEPTH_MAX} levels`)
    this.#at += 1
    const value = read()
    this.#depth -= 1
    return value
  }

  #object(): Record<string, unknown> {
    const entries: [string, unknown][] = []
    if (this.#take('}')) return {}
    do {
      this.#skipSpace()
      if (this.#text[this.#at] !== '"') throw this.#unexpected('a key in double quotes')
      const key = this.#string()
      if (!this.#take(':')) throw this.#unexpected("':'")
      entries.push([key, this.#value()])
    } while (this.#take(','))
    if (!this.#take('}')) throw this.#unexpected("',' or '}'")
    // fromEntries defines rather than assigns, so that a key named __proto__ stays a key.
    return Object.fromEntries(entries)
  }

  #array(): unknown[] {
    const items: unknown[] = []
    if (this.#take(']')) return items
    do {
      items.push(this.#value())
    } while (this.#take(','))
    if (!this.#take(']')) throw this.#unexpected("',' or ']'")
    return items
  }

  #string(): string {
    const start = this.#at
    const end = this.#closingQuote(start)
    const raw = this.#text.slice(start + 1, end)
    this.#at = end + 1
    // oxlint-disable-next-line no-control-regex -- these are the characters JSON forbids
    if (!raw.includes('\\') && !/[\u0000-\u001f]/.test(raw)) return raw
    try {
      return JSON.parse(this.#text.slice(start, end + 1)) as string
    } catch {
      throw this.#brokenCharacter(start + 1, end)
    }
  }

  #closingQuote(start: number): number {
    let quote = this.#text.indexOf('"', start + 1)
    while (quote !== -1 && this.#isEscaped(quote)) quote = this.#text.indexOf('"', quote + 1)
    if (quote === -1) throw this.#error('A string without an end')
    return quote
  }

  #isEscaped(position: number): boolean {
    let before = position - 1
    while (this.#text[before] === '\\') before -= 1
    return (position - before) % 2 === 0
  }

  #brokenCharacter(start: number, end: number): JsonTextError {
    for (let at = start; at < end; at += 1) {
      const character = this.#text.charCodeAt(at)
      if (character < 0x20) {
        const name = `U+${character.toString(16).padStart(4, '0').toUpperCase()}`
        return this.#error(`A bare control character ${name} in a string`, at)
      }
      if (character !== 0x5c) continue
      ESCAPE.lastIndex = at
      if (!ESCAPE.test(this.#text)) return this.#error('A broken escape in a string', at)
      at = ESCAPE.lastIndex - 1
    }
    return this.#error('A broken string', start)
  }

  #word(): unknown {
    WORD.lastIndex = this.#at
    const word = WORD.exec(this.#text)?.[0]
    if (word === undefined) throw this.#unexpected('a value')
    this.#at += word.length
    return WORDS[word]
  }

  #number(): number | bigint {
    NUMBER.lastIndex = this.#at
    const match = NUMBER.exec(this.#text)
    if (match === null) throw this.#unexpected('a value')
    const [literal, fraction, exponent] = match
    const value = Number(literal)
    const isInteger = fraction === undefined && exponent === undefined
    if (isInteger && literal.length > DIGITS_MAX) throw this.#error(`A number of more than ${DIGITS_MAX} digits`)
    if (!Number.isFinite(value) && !isInteger) throw this.#error('A number too large for any double')
    this.#at += literal.length
    return isInteger && !Number.isSafeInteger(value) ? BigInt(literal) : value
  }

  #skipSpace(): void {
    SPACE.lastIndex = this.#at
    SPACE.test(this.#text)
    this.#at = SPACE.lastIndex
  }

  #take(character: string): boolean {
    this.#skipSpace()
    if (this.#text[this.#at] !== character) return false
    this.#at += 1
    return true
  }

  #unexpected(wanted: string): JsonTextError {
    const found = String.fromCodePoint(this.#text.codePointAt(this.#at) ?? 0)
    return this.#error(`Expected ${wanted}, found ${this.#at < this.#text.length ? JSON.stringify(found) : 'the end'}`)
  }

  #error(problem: string, position: number = this.#at): JsonTextError {
    return new JsonTextError(problem, this.#text, position)
  }
}
