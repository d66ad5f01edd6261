import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { htmlParts, plainText, TEXT_UNITS_MAX } from './telegram-parts.ts'

/** What Telegram checks: well-nested tags, and the length of the text. */
function isAccepted(part: string): boolean {
  const open: string[] = []
  for (const [, slash, name = ''] of part.matchAll(/<(\/?)([a-z]+)[^>]*>/g)) {
    if (slash === '') open.push(name)
    else if (open.pop() !== name) return false
  }
  const text = plainText(part)
  const isWellFormed = !/[\uD800-\uDBFF](?![\uDC00-\uDFFF])|(?<![\uD800-\uDBFF])[\uDC00-\uDFFF]/.test(text)
  return (
    open.length === 0 &&
    isWellFormed &&
    text.trim() !== '' &&
    text.length <= TEXT_UNITS_MAX &&
    Buffer.byteLength(part) < 32_000
  )
}

const escaped = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')

describe('every part is accepted, and together they are the whole text', () => {
  test.each([
    ['4,096 exclamation marks', '!'.repeat(4_096), 1],
    ['one more', '!'.repeat(4_097), 2],
    ['2,100 emoji, each two units', '😀'.repeat(2_100), 2],
    ['1,250 quoted lines', escaped('> цитата & ответ\n'.repeat(1_250)), 6],
    ['one word of 5,000 letters', 'а'.repeat(5_000), 2],
    ['bold text of 6,000 letters', `<b>${'б'.repeat(6_000)}</b>`, 2],
    ['nested tags over a cut', `<b>один <i>${'в '.repeat(3_000)}</i> два</b>`, 2],
    ['an entity at the cut', `${'a'.repeat(4_095)}&amp;&amp;`, 2],
    ['20,000 ampersands', '&amp;'.repeat(20_000), 5],
    ['emoji of four bytes and escapes, near the raw limit', '&lt;😀'.repeat(5_000), 4],
  ])('%s', (_name, html, count) => {
    const parts = htmlParts(html)

    expect(parts.filter((part) => !isAccepted(part))).toEqual([])
    expect(parts.map(plainText).join('')).toBe(plainText(html))
    expect(parts).toHaveLength(count)
  })
})

test('a cut falls between paragraphs, else lines, else words', () => {
  const paragraph = `${'слово '.repeat(400)}\n${'слово '.repeat(100)}`

  expect(htmlParts(`${paragraph}\n\n${paragraph}`).map((part) => part.endsWith('\n\n'))).toEqual([true, false])
  expect(htmlParts('слово '.repeat(1_000)).map((part) => part.endsWith('слово '))).toEqual([true, true])
})

test('a link that is open at the cut leads to the same place in the next part', () => {
  const [first, second] = htmlParts(`<a href="https://shop.example/?a=1&amp;b=2">${'x'.repeat(5_000)}</a>`)

  expect(first?.endsWith('</a>')).toBe(true)
  expect(second?.startsWith('<a href="https://shop.example/?a=1&amp;b=2">x')).toBe(true)
})

test('any text, in any tags, is cut into accepted parts', () => {
  const piece = fc.oneof(
    fc.string({ unit: 'grapheme', maxLength: 300 }).map(escaped),
    fc.string({ unit: 'grapheme', maxLength: 300 }).map((text) => `<b>${escaped(text)}</b>`),
    fc.constantFrom('\n\n', ' ', 'длинноеслово'.repeat(60), '<i>к<u>у</u></i>', '&amp;'.repeat(200)),
  )
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 60 }), (pieces) => {
      const html = pieces.join('')
      const parts = htmlParts(html)

      expect(parts.filter((part) => !isAccepted(part))).toEqual([])
      const blank = /\s/g
      expect(parts.map(plainText).join('').replace(blank, '')).toBe(plainText(html).replace(blank, ''))
    }),
    { numRuns: 60, verbose: true },
  )
})
