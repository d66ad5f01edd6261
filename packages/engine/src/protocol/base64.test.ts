import fc from 'fast-check'
import { expect, test } from 'vitest'
import { fromBase64, toBase64 } from './base64.ts'

const seed = Number(process.env['FOOTHOLD_SEED'] ?? Math.floor(Math.random() * 2 ** 31))

test(`bytes are spelled as everybody spells them and come back equal (seed ${seed})`, () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 40 }), (bytes) => {
      const text = toBase64(bytes)
      expect(text).toBe(Buffer.from(bytes).toString('base64'))
      expect(fromBase64(text)).toStrictEqual(bytes)
    }),
    { seed, numRuns: 300 },
  )
})

test.each(['a', 'aaaaa', 'я===', '====', 'aa=a', 'aa a', 'aa-_', 'aa\n='])('%j is not base64', (text) => {
  expect(fromBase64(text)).toBeNull()
})
