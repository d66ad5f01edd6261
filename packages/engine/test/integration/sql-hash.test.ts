import fc from 'fast-check'
import { expect, test } from 'vitest'
import { canonicalJson } from '../../src/protocol/canonical-json.ts'
import { worlds } from './client-world.ts'

/** A key in SQL and the same key in TypeScript stand for one task only if both spell a body alike, to the letter. */

const openWorld = worlds()
const seed = Number(process.env['FOOTHOLD_SEED'] ?? Math.floor(Math.random() * 2 ** 31))

async function differences(texts: readonly string[]): Promise<unknown[]> {
  await using world = await openWorld()
  const rows = await world.owner.run<{ text: string; sql: string }>(
    `select t as text, foothold.canonical_json(t::json) as sql from unnest($1::text[]) with ordinality v(t, n) order by n`,
    [texts],
    { doing: 'testing' },
  )
  expect(rows).toHaveLength(texts.length)
  return rows
    .filter(({ text, sql }) => canonicalJson(text) !== sql)
    .map((row) => ({ ...row, ts: canonicalJson(row.text) }))
}

const doubles = fc
  .bigInt({ min: 0n, max: 2n ** 64n - 1n })
  .map((bits) => new Float64Array(new BigUint64Array([bits]).buffer)[0] as number)
  .filter(Number.isFinite)

/** As other languages write them, too. */
const numbers = fc.oneof(
  fc.integer().map(String),
  doubles.map(String),
  doubles.map((x) => x.toExponential()),
  doubles.filter((x) => Math.abs(x) < 1e21 && Math.abs(x) > 1e-30).map((x) => x.toFixed(20)),
  fc.double({ min: -1e6, max: 1e6, noNaN: true }).map((x) => (Object.is(x, -0) ? '-0.0' : String(x))),
  fc.bigInt({ min: -(10n ** 25n), max: 10n ** 25n }).map(String),
  fc.tuple(fc.bigInt({ min: 1n, max: 10n ** 18n }), fc.integer({ min: -340, max: 320 })).map(([d, e]) => `${d}E${e}`),
  fc.integer({ min: -1074, max: 1023 }).map((power) => String(2 ** power)),
)

test(`numbers are spelled alike (seed ${seed})`, async () => {
  const given = [
    '0 -0 -0.0 0e5 1e21 1e-7 0.000001 123456789012345680000 5e-324 2e-324 3e-324 5.684341886080802e-14 1e16',
    '1.7976931348623157e308 1.7976931348623159e308 -1e400 1e-400 1e99999999999 0.001e400 0e99999',
    '10000000000000000000 12345678901234567890.0 100000000000000000000000 9007199254740992 9007199254740993',
    // Halfway between two doubles, shorter than any decimal strictly inside.
    '5764607523034235e24 1152921504606847e25 18446744073709551616',
  ].flatMap((line) => line.split(' '))

  expect(await differences([...given, ...fc.sample(numbers, { seed, numRuns: 3_000 })])).toEqual([])
})

/** One more spelling of the same text: what a library writes that knows ASCII only, or escapes what it need not. */
const spelledOtherwise = (json: string): string =>
  json.replace(/[\u0080-\uffff/]/g, (unit) =>
    unit === '/' ? '\\/' : `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )

const texts = fc.string({
  unit: fc.oneof(
    fc.string({ unit: 'grapheme', maxLength: 1 }),
    fc.constantFrom('\\', '"', '\u0001', '\n', 'я', '\u007f', '\ue000', '😀', '/'),
  ),
})
const keys = fc.oneof(
  texts,
  fc.nat({ max: 20 }).map(String),
  fc.constantFrom('__proto__', '4294967294', '4294967295', '01', '-1'),
)
const values = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    fc.constantFrom(null, true, false),
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    texts,
    fc.string({ unit: fc.constantFrom('\0', '\ud83d', '\ude00', 'а', '\\', 'u') }),
    fc.array(tie('value'), { maxLength: 5 }),
    fc.dictionary(keys, tie('value'), { maxKeys: 8 }),
  ),
})).value

test(`whole bodies are spelled alike, however they were written (seed ${seed})`, async () => {
  const bodies = fc.sample(values, { seed, numRuns: 600 }).map((value) => JSON.stringify(value))
  const given = [
    '{"a":1,"__proto__":{"x":1},"a":2}',
    ' [ 1 ,\t{ "б" : "\\u0430\\/" } ]\n',
    '{"\uffff":1,"😀":2,"\ue000":3,"я":4}',
  ]

  expect(await differences([...given, ...bodies, ...bodies.map(spelledOtherwise)])).toEqual([])
})
