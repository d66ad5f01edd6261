import fc from 'fast-check'
import { expect, test } from 'vitest'
import { JsonTextError, parseJson } from './json-text.ts'

test('every JSON text means what it means to JSON.parse, but for the digits of large integers', () => {
  fc.assert(
    fc.property(fc.json({ maxDepth: 6, stringUnit: 'binary' }), fc.nat(4), (text, indent) => {
      const spaced = JSON.stringify(JSON.parse(text), null, indent)
      expect(rounded(parseJson(spaced))).toEqual(JSON.parse(spaced))
    }),
  )
})

function rounded(value: unknown): unknown {
  if (typeof value === 'bigint') return Number(value)
  if (Array.isArray(value)) return value.map(rounded)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, rounded(item)]))
}

test('what JSON.parse refuses is refused, and nothing else', () => {
  const pieces = [
    '{',
    '}',
    '[',
    ']',
    ':',
    ',',
    '"a"',
    '"\\u00',
    '"\\x"',
    '1',
    '-',
    '0',
    '.5',
    'e3',
    'true',
    'nul',
    ' ',
    '"\t"',
    "'a'",
  ]
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...pieces), { maxLength: 9 }), (chosen) => {
      const text = chosen.join('')
      expect(outcome(() => parseJson(text))).toEqual(outcome(() => JSON.parse(text) as unknown))
    }),
    { numRuns: 5_000 },
  )
})

function outcome(parse: () => unknown): unknown {
  try {
    return { value: parse() }
  } catch (error) {
    expect(error instanceof SyntaxError || error instanceof JsonTextError).toBe(true)
    return 'refused'
  }
}

test('integers beyond 2^53 keep all their digits as bigints, the last safe ones stay numbers', () => {
  expect(parseJson('[9007199254740991, 9007199254740992, -9007199254740993, 5366182128746793135]')).toEqual([
    9007199254740991,
    9007199254740992n,
    -9007199254740993n,
    5366182128746793135n,
  ])
  expect(parseJson('[1e20, 0.1, -0]')).toEqual([1e20, 0.1, -0])
})

test('a key named __proto__ is a key, and of two equal keys the last counts', () => {
  const value = parseJson('{"__proto__": {"admin": true}, "a": 1, "a": 2}') as Record<string, unknown>

  expect(Object.getPrototypeOf(value)).toBe(Object.prototype)
  expect(Object.entries(value)).toEqual([
    ['__proto__', { admin: true }],
    ['a', 2],
  ])
})

test.each([
  ['[1e400]', 'A number too large for any double at line 1, column 2'],
  [`[${'1'.repeat(1_001)}]`, 'A number of more than 1000 digits at line 1, column 2'],
  ['"привет', 'A string without an end at line 1, column 1'],
  ['"\n"', 'A bare control character U+000A in a string at line 1, column 2'],
  ['{"ключ": "\\q"}', 'A broken escape in a string at line 1, column 11'],
  ['{\n  "a": 1,\n}', 'Expected a key in double quotes, found "}" at line 3, column 1'],
  ['[1] 2', 'Expected the end, found "2" at line 1, column 5'],
  ['', 'Expected a value, found the end at line 1, column 1'],
])('a refusal names what and where: %j', (text, message) => {
  expect(() => parseJson(text)).toThrow(message)
})

test('eight megabytes of one string, or of backslashes, are read within the stack and the time of a test', () => {
  const long = JSON.stringify('щ"\\'.repeat(1_000_000))

  expect((parseJson(long) as string).length).toBe(3_000_000)
  expect((parseJson(`"${'\\\\'.repeat(4_000_000)}"`) as string).length).toBe(4_000_000)
})
