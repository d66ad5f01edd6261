import fc from 'fast-check'
import { expect, test } from 'vitest'
import { toWireValue } from './wire-value.ts'

test('JSON values are themselves', () => {
  fc.assert(
    fc.property(fc.jsonValue({ stringUnit: 'binary' }), (value) => {
      expect(JSON.stringify(toWireValue(value))).toBe(JSON.stringify(value))
    }),
  )
})

test('bytes of any length are their base64', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 100 }), fc.nat(2), (bytes, thousands) => {
      const long = Buffer.concat([Buffer.alloc(thousands * 30_000, 7), bytes])
      expect(toWireValue(new Uint8Array(long))).toBe(long.toString('base64'))
    }),
  )
})

test('what JSON lacks has one documented form each', () => {
  expect(
    toWireValue({
      at: new Date('2027-01-02T03:04:05.678Z'),
      id: -9007199254740993n,
      names: new Map([['имя', 1n]]),
      __proto__: null,
      pairs: new Map<unknown, unknown>([[1n, undefined]]),
      set: new Set([new Date(0)]),
      list: [undefined, Number.POSITIVE_INFINITY, -0],
      nothing: undefined,
      run: () => 1,
    }),
  ).toEqual({
    at: '2027-01-02T03:04:05.678Z',
    id: '-9007199254740993',
    names: { имя: '1' },
    pairs: [['1', null]],
    set: ['1970-01-01T00:00:00.000Z'],
    list: [null, 'Infinity', -0],
  })
})

test('a key named __proto__ stays a key', () => {
  const wire = toWireValue(new Map([['__proto__', { admin: true }]])) as object

  expect(Object.entries(wire)).toEqual([['__proto__', { admin: true }]])
  expect(Object.getPrototypeOf(wire)).toBe(Object.prototype)
})

test('a circle is refused instead of ending the stack', () => {
  const circle: { self?: unknown } = {}
  circle.self = circle

  expect(() => toWireValue(circle)).toThrow('nested deeper than 500 levels, or in a circle')
})
