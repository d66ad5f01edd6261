import fc from 'fast-check'
import { expect, test } from 'vitest'
import { cut } from '../protocol/explain/cut.ts'
import { plainJson, plainLine, plainLines } from './plain-text.ts'

const seed = Number(process.env['FOOTHOLD_SEED'] ?? Math.floor(Math.random() * 2 ** 31))

// oxlint-disable-next-line no-control-regex -- the very characters that must not come through
const SPEAKS = /[\u0000-\u001F\u007F-\u009F\u2028\u2029\u202A-\u202E\u2066-\u2069]/

/** Any text, and more often the characters that a terminal obeys. */
const hostile = fc.string({
  unit: fc.oneof(
    fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }),
    fc.constantFrom('\u001B', '\u009B', '\r', '\n', '\t', '\u202E', '\ud800', 'я', '[2J'),
  ),
})

test(`no text makes a terminal do anything (seed ${seed})`, () => {
  fc.assert(
    fc.property(hostile, (text) => {
      expect(plainLine(text)).not.toMatch(SPEAKS)
      expect(plainLines(text).replace(/[\n\t]/g, '')).not.toMatch(SPEAKS)
      expect(plainLine(text)).not.toMatch(/\p{Cs}/u)
    }),
    { seed, numRuns: 500 },
  )
})

test(`a JSON document says the same after it was made harmless (seed ${seed})`, () => {
  fc.assert(
    fc.property(fc.dictionary(hostile, hostile), (value) => {
      const text = plainJson(JSON.stringify(value, null, 2))
      expect(JSON.parse(text)).toEqual(value)
      expect(text.replaceAll('\n', '')).not.toMatch(SPEAKS)
    }),
    { seed, numRuns: 300 },
  )
})

test('plain text stays as it is', () => {
  const text = 'Цена 1.5–2 (скидка 10%)! «Вектор» 😀 C:\\temp'

  expect(plainLine(text)).toBe(text)
  expect(plainLines('раз\n\tдва')).toBe('раз\n\tдва')
  expect(plainLine('раз\n\tдва\r\u001B')).toBe('раз\\n\\tдва\\r\\u001b')
})

test('long text is cut at whole characters', () => {
  expect(cut('привет', 6)).toBe('привет')
  expect(cut('привет!', 6)).toBe('приве…')
  expect(cut('😀😀😀', 2)).toBe('😀…')
})
