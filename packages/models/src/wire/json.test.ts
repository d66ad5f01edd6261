import fc from 'fast-check'
import { expect, test } from 'vitest'
import { parseJson, toJson } from './json.ts'

test('whole numbers beyond 2^53 become strings of their digits, all else stays', () => {
  const text =
    '{"id":9007199254740993,"safe":9007199254740991,"low":-5366182128746793135,"list":[9007199254740993,1.5],' +
    '"float":0.12345678901234567890,"big":1e21,"text":"№9007199254740993 и \\"9007199254740993\\" \\\\","9007199254740993":1}'

  expect(parseJson(text)).toEqual({
    id: '9007199254740993',
    safe: 9007199254740991,
    low: '-5366182128746793135',
    list: ['9007199254740993', 1.5],
    float: 0.12345678901234568,
    big: 1e21,
    text: '№9007199254740993 и "9007199254740993" \\',
    '9007199254740993': 1,
  })
})

test('a lone number is read like one in a document', () => {
  expect(parseJson(' 5366182128746793135 ')).toBe('5366182128746793135')
})

test('every document without such numbers is read as JSON.parse reads it', () => {
  // Strings full of digits, quotes and backslashes are what a careless reader would change.
  const tricky = fc.string({ unit: fc.constantFrom('9', '"', '\\', '-', '.', 'e', 'я', '🌍', '\n'), maxLength: 40 })
  const value = fc.jsonValue().filter(hasSafeNumbersOnly)

  fc.assert(
    fc.property(fc.oneof(value, fc.array(tricky), fc.dictionary(tricky, tricky)), (document) => {
      const text = JSON.stringify([document, '1234567890123456789'])
      expect(parseJson(text)).toEqual(JSON.parse(text))
    }),
  )
})

test('every whole number keeps its digits', () => {
  fc.assert(
    fc.property(fc.array(fc.bigInt({ min: -(2n ** 70n), max: 2n ** 70n })), (numbers) => {
      expect((parseJson(`[${numbers.join(',')}]`) as unknown[]).map(String)).toEqual(numbers.map(String))
    }),
  )
})

test('text that is not JSON is refused, also where it looks like a long number', () => {
  for (const text of ['', '{', '[12345678901234567890', '012345678901234567890', '"12345678901234567890']) {
    expect(() => parseJson(text)).toThrow(SyntaxError)
  }
})

test('megabytes of escapes are read without overflowing the stack', () => {
  const text = JSON.stringify(['"\\'.repeat(1_000_000), 'x']).replace('"x"', '12345678901234567890')

  expect((parseJson(text) as string[])[1]).toBe('12345678901234567890')
})

test('what is written is well-formed UTF-16, with bigints as digits', () => {
  const written = toJson({ half: 'а\uD83D', whole: '🌍', other: '\uDE00б', id: 9007199254740993n })

  expect(JSON.parse(written)).toEqual({ half: 'а\uFFFD', whole: '🌍', other: '\uFFFDб', id: '9007199254740993' })
})

function hasSafeNumbersOnly(document: unknown): boolean {
  let isSafe = true
  JSON.stringify(document, (_key, part: unknown) => {
    if (Number.isInteger(part) && !Number.isSafeInteger(part)) isSafe = false
    return part
  })
  return isSafe
}
