/**
 * One text for all JSON texts that say the same: keys sorted, no white space, one spelling per string. For hashes of
 * bodies. Numbers keep their digits: parsing would make 9007199254740993 and 9007199254740992 the same.
 */
export function canonicalJson(encoded: string): string {
  // Refuses what is not JSON, so that the reader below may trust its input.
  JSON.parse(encoded)
  return new Reader(encoded).value()
}

const TOKEN = /[\s]*("(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+)/y

class Reader {
  readonly #text: string
  #at = 0

  constructor(text: string) {
    this.#text = text
  }

  value(token: string = this.#next()): string {
    if (token === '{') return this.#object()
    if (token === '[') return this.#array()
    return token.startsWith('"') ? JSON.stringify(JSON.parse(token)) : token
  }

  #object(): string {
    // A repeated key counts once, with its last value, as for JSON.parse and PostgreSQL's jsonb.
    const members = new Map<string, string>()
    let token = this.#next()
    while (token !== '}') {
      const key = this.value(token)
      this.#next()
      members.set(key, this.value())
      token = this.#next()
      if (token === ',') token = this.#next()
    }
    const keys = [...members.keys()].sort()
    return `{${keys.map((key) => `${key}:${members.get(key)}`).join(',')}}`
  }

  #array(): string {
    const members: string[] = []
    let token = this.#next()
    while (token !== ']') {
      members.push(this.value(token))
      token = this.#next()
      if (token === ',') token = this.#next()
    }
    return `[${members.join(',')}]`
  }

  #next(): string {
    TOKEN.lastIndex = this.#at
    const token = TOKEN.exec(this.#text)?.[1] as string
    this.#at = TOKEN.lastIndex
    return token
  }
}
