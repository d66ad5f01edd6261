import { expect, test } from 'vitest'
import { parseJson, stringifyJson } from './lossless-json.ts'

test('integers past 2^53 are read as their digits, everything else as JSON says', () => {
  const text =
    '{"id":9007199254740993,"small":5501,"negative":-9007199254740993,"pi":3.14159265358979323846,"big":12500000000000000000.0,"text":"№ 9007199254740993 \\" 9007199254740993","list":[5366182128746793135]}'

  expect(parseJson(text)).toEqual({
    id: '9007199254740993',
    small: 5501,
    negative: '-9007199254740993',
    pi: Math.PI,
    big: 1.25e19,
    text: '№ 9007199254740993 " 9007199254740993',
    list: ['5366182128746793135'],
  })
})

test('bigints are written as bare digits and come back as their digits', () => {
  const text = stringifyJson({ id: 9007199254740993n, name: 'Анна' })

  expect(text).toBe('{"id":9007199254740993,"name":"Анна"}')
  expect(parseJson(text)).toEqual({ id: '9007199254740993', name: 'Анна' })
})

test('broken JSON is an error', () => {
  expect(() => parseJson('{"id":')).toThrow(SyntaxError)
})
