/** Base64 of bytes without Buffer, which this room may not know. btoa would need them as a string first, which takes longer. */

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'
const PADDING = 61 // '='
const CODES = Uint8Array.from(ALPHABET, (character) => character.charCodeAt(0))
const VALUES = new Uint8Array(128).fill(255)
for (const [value, code] of CODES.entries()) VALUES[code] = value

export function toBase64(bytes: Uint8Array): string {
  const codes = new Uint8Array(Math.ceil(bytes.length / 3) * 4)
  let at = 0
  for (let index = 0; index < bytes.length; index += 3) {
    const bits = (byte(bytes, index) << 16) | (byte(bytes, index + 1) << 8) | byte(bytes, index + 2)
    codes[at++] = byte(CODES, bits >> 18)
    codes[at++] = byte(CODES, (bits >> 12) & 63)
    codes[at++] = byte(CODES, (bits >> 6) & 63)
    codes[at++] = byte(CODES, bits & 63)
  }
  codes.fill(PADDING, codes.length - ((3 - (bytes.length % 3)) % 3))
  return new TextDecoder().decode(codes)
}

/** Null when the text is not base64 with its padding. */
export function fromBase64(text: string): Uint8Array | null {
  if (text.length % 4 !== 0) return null
  const padding = text.endsWith('==') ? 2 : text.endsWith('=') ? 1 : 0
  const bytes = new Uint8Array((text.length / 4) * 3 - padding)
  const end = text.length - padding
  let at = 0
  for (let index = 0; index < text.length; index += 4) {
    let bits = 0
    for (let offset = index; offset < index + 4; offset++) {
      const code = text.charCodeAt(offset)
      const value = offset >= end ? 0 : code < 128 ? byte(VALUES, code) : 255
      if (value === 255) return null
      bits = (bits << 6) | value
    }
    // A typed array ignores what is written past its end: the padding.
    bytes[at++] = bits >> 16
    bytes[at++] = bits >> 8
    bytes[at++] = bits
  }
  return bytes
}

function byte(bytes: Uint8Array, index: number): number {
  return bytes[index] ?? 0
}
