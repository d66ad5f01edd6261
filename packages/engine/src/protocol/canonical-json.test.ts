import fc from 'fast-check'
import { expect, test } from 'vitest'
import { canonicalJson } from './canonical-json.ts'
import { decode, encode } from './codec.ts'

const seed = Number(process.env['FOOTHOLD_SEED'] ?? Math.floor(Math.random() * 2 ** 31))

test('the order of keys and white space do not matter, at any depth', () => {
  const one = '{"б": [1, {"y":null,"x":" a b "}], "а":\n\t{}}'
  const other = '{"а":{},"б":[1,{"x":" a b ","y":null}]}'

  expect(canonicalJson(one)).toBe(canonicalJson(other))
  expect(canonicalJson(one)).toBe(other)
})

test('spelling of strings does not matter, their contents do', () => {
  expect(canonicalJson('"\\u0430\\/"')).toBe(canonicalJson('"а/"'))
  expect(canonicalJson('{"\\u0061":1,"b":2}')).toBe('{"a":1,"b":2}')
  expect(canonicalJson('"a "')).not.toBe(canonicalJson('"a"'))
  expect(canonicalJson('"\\ud800\\u0000"')).toBe('"\\ud800\\u0000"')
})

test('the order of an array matters', () => {
  expect(canonicalJson('[1,2]')).not.toBe(canonicalJson('[2,1]'))
})

test('digits survive: ids above 2^53 that differ in the last digit stay different', () => {
  expect(canonicalJson('9007199254740993')).not.toBe(canonicalJson('9007199254740992'))
  expect(canonicalJson('[9007199254740993]')).toBe(canonicalJson(encode([9007199254740993n], 'the input')))
})

test('the spelling of numbers does not matter', () => {
  expect(canonicalJson('[1.0, 1e2, 100]')).toBe('[1,100,100]')
})

test('a repeated key counts with its last value, and __proto__ is a key', () => {
  expect(canonicalJson('{"a":1,"__proto__":{"x":1},"a":2}')).toBe('{"__proto__":{"x":1},"a":2}')
})

test('what is not JSON is refused', () => {
  expect(() => canonicalJson('{"a":1,}')).toThrow(SyntaxError)
})

test(`it says the same as the text it was made from, and is its own canonical form (seed ${seed})`, () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const encoded = encode(value, 'the input')
      const canonical = canonicalJson(encoded)
      expect(decode(canonical)).toStrictEqual(value)
      expect(canonicalJson(canonical)).toBe(canonical)
      expect(canonicalJson(JSON.stringify(JSON.parse(encoded), null, 2))).toBe(canonical)
    }),
    { seed, numRuns: 300 },
  )
})
