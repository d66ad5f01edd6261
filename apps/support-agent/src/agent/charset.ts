import iconv from 'iconv-lite'

export interface Decoded {
  readonly text: string
  readonly charset: string
}

/**
 * Bytes to text. In this order: a byte order mark; well-formed UTF-8, whatever the label says (Cyrillic in an 8-bit
 * charset is practically never valid UTF-8); the declared charset; the 8-bit Cyrillic charset in which the bytes read
 * most like Russian.
 */
export function decodeText(bytes: Buffer, declared: string | null): Decoded {
  const marked = byteOrderMark(bytes)
  if (marked !== null) return decodedAs(bytes, marked)
  const utf8 = decodeUtf8(bytes)
  if (utf8 !== null) return { text: utf8, charset: 'utf-8' }
  const label = declared?.trim().toLowerCase() ?? null
  if (label !== null && !/^utf-?8$|^(us-)?ascii$/.test(label) && iconv.encodingExists(label)) {
    return decodedAs(bytes, label)
  }
  return likeliest(bytes)
}

function byteOrderMark(bytes: Buffer): string | null {
  if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) return 'utf-8'
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return 'utf-16le'
  return bytes[0] === 0xfe && bytes[1] === 0xff ? 'utf-16be' : null
}

function decodedAs(bytes: Buffer, charset: string): Decoded {
  return { text: iconv.decode(bytes, charset), charset }
}

function decodeUtf8(bytes: Buffer): string | null {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    return null
  }
}

/** Enough for a verdict; a longer look only costs time. */
const SAMPLE_BYTES = 20_000
const CANDIDATES = ['windows-1251', 'koi8-r', 'cp866']

function likeliest(bytes: Buffer): Decoded {
  const sample = bytes.subarray(0, SAMPLE_BYTES)
  const scored = CANDIDATES.map((charset) => ({ charset, score: russianness(iconv.decode(sample, charset)) }))
  const best = scored.reduce((a, b) => (b.score > a.score ? b : a))
  return decodedAs(bytes, best.charset)
}

/**
 * The same bytes are letters in all three charsets, in koi8-r with small and capital letters exchanged. Real Russian has
 * its frequent letters often, its rare ones rarely, and no capital after a small letter.
 */
function russianness(text: string): number {
  let score = 0
  let previous = ''
  for (const character of text) {
    const letter = character.toLowerCase()
    if (/[а-яё]/.test(letter)) {
      const isCapital = letter !== character
      score += FREQUENT.has(letter) ? 2 : RARE.has(letter) ? 0 : 1
      if (isCapital) score -= /[а-яё]/.test(previous) ? 4 : 0.5
    } else if (character > '\u007F' && !/[«»—–№…“”„’°\u00A0]/.test(character)) {
      score -= 3
    }
    previous = character
  }
  return score
}

const FREQUENT = new Set('оеаинтсрвл')
const RARE = new Set('фэщцхюъё')
