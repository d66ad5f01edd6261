// JSON without rounding: the services played here send ids above 2^53 as bare digits, which JSON.parse would change.
// Reading turns such integers into strings of digits; writing turns bigints into bare digits.

const STRING_OR_LONG_INTEGER = /"[^"\\]*(?:\\[\s\S][^"\\]*)*"|-?\d{16,}(?![\d.eE])/g

// A decimal number's fraction may be long too; what stands behind a dot or an exponent sign is not an integer.
const BEFORE_A_FRACTION = /[.eE+]$/

export function parseJson(text: string): unknown {
  const quoted = text.replace(STRING_OR_LONG_INTEGER, (token, offset: number) => {
    if (token.startsWith('"') || Number.isSafeInteger(Number(token))) return token
    if (BEFORE_A_FRACTION.test(text.slice(Math.max(0, offset - 1), offset))) return token
    return `"${token}"`
  })
  return JSON.parse(quoted)
}

const MARK = `bare-${crypto.randomUUID()}:`
const MARKED = new RegExp(`"${MARK}(-?\\d+)"`, 'g')

export function stringifyJson(value: unknown): string {
  const text = JSON.stringify(value, (_key, item: unknown) => (typeof item === 'bigint' ? `${MARK}${item}` : item))
  return text.includes(MARK) ? text.replace(MARKED, '$1') : text
}
