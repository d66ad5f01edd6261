import { runInNewContext } from 'node:vm'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { cleanMessage, decode, encode, PAYLOAD_BYTES_MAX } from './codec.ts'
import { isFootholdError } from './errors.ts'

const seed = Number(process.env['FOOTHOLD_SEED'] ?? Math.floor(Math.random() * 2 ** 31))

function roundTrip(value: unknown): unknown {
  return decode(encode(value, 'the result'))
}

function refusalOf(act: () => unknown): { readonly code: string; readonly [detail: string]: unknown } {
  try {
    act()
  } catch (error) {
    if (isFootholdError(error)) return { code: error.code, ...error.details }
    throw error
  }
  throw new Error('it was not refused')
}

function refusal(value: unknown): { readonly code: string; readonly [detail: string]: unknown } {
  return refusalOf(() => encode(value, 'the result'))
}

describe('what is stored', () => {
  test('plain JSON stays plain and readable from SQL', () => {
    const value = { заказ: 5501, lines: ['стол', null, true, 1.5, 1e21], empty: {}, none: [] }

    expect(encode(value, 'the result')).toBe(JSON.stringify(value))
  })

  test('only what JSON cannot say carries a tag', () => {
    const value = { at: new Date(0), n: 9007199254740993n, f: NaN, neg: -0, u: undefined }

    expect(JSON.parse(encode(value, 'the result'))).toEqual({
      at: { $foothold: 'date', value: '1970-01-01T00:00:00.000Z' },
      n: { $foothold: 'bigint', value: '9007199254740993' },
      f: { $foothold: 'number', value: 'NaN' },
      neg: { $foothold: 'number', value: '-0' },
      u: { $foothold: 'undefined' },
    })
  })
})

describe('what comes back', () => {
  test(`every storable value comes back equal and is spelled the same again (seed ${seed})`, () => {
    fc.assert(
      fc.property(storable(), (value) => {
        const text = encode(value, 'the result')
        const back = decode(text)
        expect(back).toStrictEqual(value)
        expect(encode(back, 'the result')).toBe(text)
      }),
      { seed, numRuns: 500 },
    )
  })

  test('a step result of every kind at once comes back equal', () => {
    const value = {
      at: new Date('2026-03-29T02:30:00.123Z'),
      n: 9007199254740993n,
      m: new Map<unknown, unknown>([
        ['ключ', new Set([1n, undefined])],
        [{ a: 1 }, -0],
      ]),
      u: undefined,
      inArray: [undefined, NaN, Infinity, -Infinity, -0, 0],
      b: new Uint8Array([0, 127, 128, 255]),
    }

    expect(roundTrip(value)).toStrictEqual(value)
  })

  test.each([undefined, null, NaN, -0, 10n, '', 'да', false])('%s alone is a value', (value) => {
    expect(roundTrip(value)).toBe(value)
  })

  test('a Buffer comes back as a Uint8Array of the same bytes, also when it is a window of a larger one', () => {
    const bytes = Buffer.from('лишнее: заявление').subarray(14)

    const back = roundTrip(bytes)

    expect(back).toStrictEqual(new Uint8Array(bytes))
    expect(Object.getPrototypeOf(back)).toBe(Uint8Array.prototype)
  })

  test('a megabyte of bytes comes back equal', () => {
    const bytes = Uint8Array.from({ length: 1_000_003 }, (_, index) => (index * 31) % 256)

    expect(Buffer.compare(roundTrip(bytes) as Uint8Array, bytes)).toBe(0)
  })

  test('the value is a copy: changing what a step returned does not change what is stored', () => {
    const inner = { count: 1, at: new Date(0), bytes: new Uint8Array([1]) }
    const back = roundTrip({ inner, again: inner }) as { inner: typeof inner; again: typeof inner }

    inner.count = 2
    inner.at.setTime(5)
    inner.bytes[0] = 9

    expect(back.inner).toStrictEqual({ count: 1, at: new Date(0), bytes: new Uint8Array([1]) })
    expect(back.again).not.toBe(back.inner)
  })

  test('an object that has our tag as a key comes back as that object', () => {
    const lookalikes = [
      { $foothold: 'date', value: '2026-01-01T00:00:00.000Z' },
      { $foothold: { $foothold: 'undefined' }, at: new Date(0) },
      { $foothold: 'object', value: { $foothold: 1 } },
      { $foothold: undefined },
    ]

    expect(roundTrip(lookalikes)).toStrictEqual(lookalikes)
  })

  test('NUL and lone surrogates come back exact, in values and in keys, and leave as escapes', () => {
    const value = { 'a\0b': 'c\0d', '\ud800': '\udfff-\ud83d', целая: '😀' }

    const text = encode(value, 'the result')

    expect(decode(text)).toStrictEqual(value)
    expect(text).not.toMatch(/\p{Surrogate}|\0/u)
  })

  test('a key __proto__ is a key like any other and changes no prototype', () => {
    const value = JSON.parse('{"__proto__":{"isAdmin":true},"constructor":1,"toString":"x"}') as object
    Object.assign(value, { at: new Date(0) })

    const back = roundTrip(value) as Record<string, unknown>

    expect(Object.keys(back)).toEqual(['__proto__', 'constructor', 'toString', 'at'])
    expect(Object.getPrototypeOf(back)).toBe(Object.prototype)
    expect(back['isAdmin']).toBeUndefined()
    // A tag under that key is replaced in place, still without touching the prototype.
    const tagged = roundTrip(JSON.parse('{"__proto__":{"$foothold":1}}')) as object
    expect(Object.getPrototypeOf(tagged)).toBe(Object.prototype)
    expect(Object.getOwnPropertyDescriptor(tagged, '__proto__')?.value).toEqual({ $foothold: 1 })
  })

  test('a toJSON that somebody put on a prototype is not called', () => {
    const prototype = Date.prototype as { toJSON: unknown }
    const before = prototype.toJSON
    prototype.toJSON = () => 'wrong'
    try {
      expect(roundTrip([new Date(7)])).toStrictEqual([new Date(7)])
    } finally {
      prototype.toJSON = before
    }
  })

  test('accessors are read once, and objects without a prototype or of another realm are plain', () => {
    let reads = 0
    const value = {
      get once() {
        reads += 1
        return { reads }
      },
    }

    expect(roundTrip(value)).toEqual({ once: { reads: 1 } })
    expect(reads).toBe(1)
    expect(roundTrip(Object.assign(Object.create(null), { a: 1 }))).toEqual({ a: 1 })
    expect(roundTrip(runInNewContext('({ a: [1, { b: 2 }] })'))).toEqual({ a: [1, { b: 2 }] })
  })

  test('holes of an array come back as undefined', () => {
    expect(roundTrip(withHole())).toStrictEqual([undefined, 1])
  })

  test('nesting of 500 levels is stored, 501 is refused', () => {
    let value: unknown = 'дно'
    for (let level = 0; level < 500; level++) value = level % 2 === 0 ? [value] : new Map([['k', value]])

    expect(roundTrip(value)).toStrictEqual(value)
    expect(refusal([value])).toMatchObject({ code: 'VALUE_NOT_STORABLE', what: 'nesting deeper than 500 levels' })
  })
})

describe('what is refused, with its path', () => {
  class Money {
    readonly amount = 1
  }
  const cycle: { self?: unknown } = {}
  cycle.self = [cycle]

  test.each<[string, unknown, string, string | RegExp]>([
    ['a function', { a: [0, 0, 0, { b: function pay() {} }] }, '$.a[3].b', 'a function (pay)'],
    ['a method', { total: 1, get: () => 1 }, '$.get', /^a function/],
    ['a symbol', [Symbol('x')], '$[0]', 'a symbol'],
    ['a symbol as key', { a: { [Symbol('x')]: 1 } }, '$.a', /^a symbol as key/],
    ['a promise', { later: Promise.resolve(1) }, '$.later', /^a promise/],
    ['a cycle', cycle, '$.self[0]', /^a cycle/],
    ['a class instance', { сумма: new Money() }, '$.сумма', 'an instance of Money'],
    ['an error', { failed: new TypeError('x') }, '$.failed', 'an instance of TypeError'],
    ['a subclass of Date', [new (class Day extends Date {})()], '$[0]', 'an instance of Day'],
    ['a URL', { 'my link': new URL('http://127.0.0.1/') }, '$["my link"]', 'an instance of URL'],
    ['a typed array that is not bytes', new Float64Array(2), '$', 'an instance of Float64Array'],
    ['a boxed number', [Object(1)], '$[0]', 'an instance of Number'],
    ['an invalid date', { at: new Date('никогда') }, '$.at', 'an invalid Date'],
    ['an array with a named property', { match: /b/.exec('abc') }, '$.match', 'an array with a property "groups"'],
    ['also beside a hole', Object.assign(withHole(), { x: 1 }), '$', 'an array with a property "x"'],
    ['a date with a property', Object.assign(new Date(0), { zone: 'x' }), '$', /with a property "zone"/],
    ['a function in a map', { m: new Map([['k', () => 1]]) }, '$.m.values()[0]', /^a function/],
    ['a symbol as key of a map', new Map([[Symbol('x'), 1]]), '$.keys()[0]', 'a symbol'],
    ['a promise in a set', new Set([1, Promise.resolve()]), '$.values()[1]', /^a promise/],
  ])('%s', (_name, value, path, what) => {
    const refused = refusal(value)

    expect(refused).toMatchObject({ code: 'VALUE_NOT_STORABLE', field: 'the result', path })
    expect(refused['what']).toMatch(what)
  })

  test('an accessor that throws, and a proxy that was revoked, are refused where they stand', () => {
    const { proxy, revoke } = Proxy.revocable({}, {})
    revoke()

    expect(
      refusal({
        a: {
          get b() {
            throw new Error('нет связи')
          },
        },
      }),
    ).toMatchObject({ path: '$.a', what: 'reading it failed (нет связи)' })
    expect(refusal({ p: [proxy] })).toMatchObject({ path: '$.p[0]' })
  })

  test('the same object twice side by side is no cycle, and counts in the depth of each place', () => {
    const shared = { a: [1] }
    let deep: unknown = shared
    for (let level = 0; level < 499; level++) deep = [deep]

    expect(roundTrip([shared, shared])).toEqual([{ a: [1] }, { a: [1] }])
    expect(refusal([shared, (deep as unknown[])[0]])).toMatchObject({ what: 'nesting deeper than 500 levels' })
    expect(refusal([[deep], deep])).toMatchObject({ what: 'nesting deeper than 500 levels' })
  })
})

describe('the limit of a payload', () => {
  test('is counted in bytes of UTF-8: exactly 16 MiB is stored, one byte more is refused', () => {
    const cyrillic = 'я'.repeat((PAYLOAD_BYTES_MAX - 2) / 2)

    expect(Buffer.byteLength(encode(cyrillic, 'the input'))).toBe(PAYLOAD_BYTES_MAX)
    expect(refusalOf(() => encode(`${cyrillic}a`, 'the input'))).toEqual({
      code: 'PAYLOAD_TOO_LARGE',
      field: 'the input',
      bytes: PAYLOAD_BYTES_MAX + 1,
      bytesMax: PAYLOAD_BYTES_MAX,
    })
  })

  test('stops a small object that unfolds without end, and bytes before they are copied', () => {
    let bomb: unknown = 'ах'
    for (let level = 0; level < 100; level++) bomb = [bomb, bomb]

    expect(refusal(bomb)).toMatchObject({ code: 'PAYLOAD_TOO_LARGE' })
    expect(refusal({ file: new Uint8Array(PAYLOAD_BYTES_MAX) })).toMatchObject({ code: 'PAYLOAD_TOO_LARGE' })
  })
})

describe('stored text from elsewhere', () => {
  test.each([
    ['a tag of a later version', '{"a":{"$foothold":"temporal","value":"x"}}'],
    ['a date that is none', '{"$foothold":"date","value":"x"}'],
    ['bytes that are none', '{"$foothold":"bytes","value":"%"}'],
    ['a map of no pairs', '{"$foothold":"map","value":[[1]]}'],
    ['a number that is none', '{"$foothold":"bigint","value":"1.5"}'],
    ['too deep nesting', '['.repeat(50_000) + ']'.repeat(50_000)],
  ])('%s is refused, never read as something else', (_name, text) => {
    expect(refusalOf(() => decode(text))).toMatchObject({ code: 'INVALID_ARGUMENT', field: 'stored value' })
  })

  test('integers that a number cannot hold keep their digits, as bigint; text inside strings is untouched', () => {
    const text =
      '{"id":9007199254740993,"n":[-5366182128746793135,1152921504606846976,9007199254740991,0.1234567890123456],"s":"\\"9007199254740993\\\\"}'

    const value = decode(text)

    expect(value).toStrictEqual({
      id: 9007199254740993n,
      n: [-5366182128746793135n, 1152921504606846976n, Number.MAX_SAFE_INTEGER, 0.1234567890123456],
      s: '"9007199254740993\\',
    })
    expect(roundTrip(value)).toStrictEqual(value)
    expect(roundTrip([2 ** 60, 1e20, -(2 ** 53) - 2])).toStrictEqual([2 ** 60, 1e20, -(2 ** 53) - 2])
  })

  test('also behind megabytes of escapes', () => {
    const text = `["${'\\n\\"'.repeat(2_000_000)}",9007199254740993]`

    expect((decode(text) as unknown[])[1]).toBe(9007199254740993n)
  })
})

describe('a message for a text column', () => {
  test('shows NUL and half surrogates as replacements and keeps whole characters', () => {
    expect(cleanMessage('ошибка\0 \ud83d 😀\udc00')).toBe('ошибка\u2400 \ufffd 😀\ufffd')
  })

  test(`is never longer than the limit, well-formed, and cut between characters (seed ${seed})`, () => {
    fc.assert(
      fc.property(anyText(), fc.integer({ min: 0, max: 20 }), (text, charactersMax) => {
        const cleaned = cleanMessage(text, charactersMax)
        expect(cleaned.length).toBeLessThanOrEqual(charactersMax)
        expect(cleaned).not.toMatch(/\p{Surrogate}|\0/u)
        expect(cleaned.endsWith('…') || cleaned.length === text.length || charactersMax === 0).toBe(true)
      }),
      { seed, numRuns: 500 },
    )
    expect(cleanMessage('аб😀вг', 4)).toBe('аб…')
    expect(cleanMessage('аб😀вг', 5)).toBe('аб😀…')
  })
})

function withHole(): unknown[] {
  const array: unknown[] = []
  array[1] = 1
  return array
}

function anyText(): fc.Arbitrary<string> {
  const unit = fc.oneof(
    fc.string({ unit: 'binary', minLength: 1, maxLength: 3 }),
    fc.constantFrom('\0', '\ud800', '\udfff', 'я', '😀', '"', '\\', '\u2028', '$foothold', '__proto__'),
  )
  return fc.array(unit, { maxLength: 6 }).map((units) => units.join(''))
}

function storable(): fc.Arbitrary<unknown> {
  const { value } = fc.letrec<{ value: unknown; leaf: unknown }>((tie) => ({
    leaf: fc.oneof(
      fc.constantFrom(null, undefined, true, false, NaN, Infinity, -Infinity, -0, 0, Number.MIN_VALUE, 2 ** 60),
      fc.double(),
      fc.bigInt(),
      anyText(),
      fc.date({ noInvalidDate: true, min: new Date(-8.64e15), max: new Date(8.64e15) }),
      fc.uint8Array({ maxLength: 9 }),
    ),
    value: fc.oneof(
      { maxDepth: 5, withCrossShrink: true },
      tie('leaf'),
      fc.array(tie('value'), { maxLength: 4 }),
      fc.array(fc.tuple(objectKey(), tie('value')), { maxLength: 4 }).map((entries) => Object.fromEntries(entries)),
      fc.array(fc.tuple(tie('value'), tie('value')), { maxLength: 3 }).map((entries) => new Map(entries)),
      fc.array(tie('value'), { maxLength: 3 }).map((members) => new Set(members)),
    ),
  }))
  return value
}

function objectKey(): fc.Arbitrary<string> {
  return fc.oneof(anyText(), fc.constantFrom('$foothold', 'value', '__proto__', 'toJSON', '0', 'имя'))
}
