/**
 * JSON as it crosses the wire, without the two ways JavaScript spoils it: numbers beyond 2^53 are rounded when read,
 * and halves of surrogate pairs, which providers answer with a 500, are written.
 */

/** Like JSON.parse, but a whole number beyond 2^53 becomes a string of its digits: ids survive, sums are not made with ids. */
export function parseJson(text: string): unknown {
  const value: unknown = JSON.parse(text)
  return LONG_NUMBER.test(text) ? (JSON.parse(quoteUnsafeIntegers(text)) as unknown) : value
}

/** Sixteen digits and more, and not the fraction of a vector's number: those stand in every embedding. */
const LONG_NUMBER = /(?<![\d.])\d{16,}(?![\d.eE])/
const TOKEN = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d[\d.eE+-]*/g

/** Takes valid JSON only, so a token that starts like a string or a number is one. */
function quoteUnsafeIntegers(json: string): string {
  return json.replace(TOKEN, (token) => {
    const isWholeNumber = !token.startsWith('"') && /^-?\d+$/.test(token)
    return isWholeNumber && !Number.isSafeInteger(Number(token)) ? `"${token}"` : token
  })
}

export function toJson(value: unknown): string {
  return JSON.stringify(value, (_key, part: unknown) => {
    if (typeof part === 'string') return wellFormed(part)
    return typeof part === 'bigint' ? part.toString() : part
  })
}

const HALF_PAIR = /[\uD800-\uDBFF](?![\uDC00-\uDFFF])|(?<![\uD800-\uDBFF])[\uDC00-\uDFFF]/g

function wellFormed(text: string): string {
  return text.replace(HALF_PAIR, '\uFFFD')
}
