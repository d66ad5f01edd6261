const QUOTE_OR_NUMBER = /"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g
const LONG_INTEGER = /^-?\d{16,}$/

/**
 * JSON.parse rounds integers above 2^53, and nothing can repair them afterwards. Text that another language wrote may
 * hold ids like that: here they become the codec's bigint. Text of our own is never changed: JSON.stringify writes a
 * number in the digits that the number prints as.
 */
export function exactIntegers(json: string): string {
  if (!/\d{16}/.test(json)) return json
  const token = new RegExp(QUOTE_OR_NUMBER)
  let exact = ''
  let copied = 0
  for (let match = token.exec(json); match !== null; match = token.exec(json)) {
    const [text] = match
    if (text === '"') {
      token.lastIndex = afterString(json, match.index)
    } else if (LONG_INTEGER.test(text) && String(Number(text)) !== text) {
      exact += `${json.slice(copied, match.index)}{"$foothold":"bigint","value":"${text}"}`
      copied = token.lastIndex
    }
  }
  return exact + json.slice(copied)
}

/** Not a pattern: one that knows escapes overflows its stack on a string of some million of them. */
function afterString(json: string, start: number): number {
  let quote = start
  do {
    quote = json.indexOf('"', quote + 1)
    if (quote === -1) return json.length
  } while (isEscaped(json, quote))
  return quote + 1
}

function isEscaped(json: string, at: number): boolean {
  let before = at - 1
  while (json[before] === '\\') before -= 1
  return (at - before) % 2 === 0
}
