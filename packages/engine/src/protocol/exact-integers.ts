/** A JSON string, skipped whole, or a number; unrolled, so that a long string costs no step back per character. */
const STRING_OR_NUMBER = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g
const INTEGER = /^-?\d{16,}$/

/**
 * JSON.parse rounds integers above 2^53, and nothing can repair them afterwards. Text that another language wrote may
 * hold ids like that: here they become the codec's bigint. Text of our own is never changed: JSON.stringify writes a
 * number in the digits that give that number again.
 */
export function exactIntegers(json: string): string {
  if (!/\d{16}/.test(json)) return json
  return json.replace(STRING_OR_NUMBER, (token) =>
    INTEGER.test(token) && BigInt(token) !== BigInt(Number(token)) && String(Number(token)) !== token
      ? `{"$foothold":"bigint","value":"${token}"}`
      : token,
  )
}
