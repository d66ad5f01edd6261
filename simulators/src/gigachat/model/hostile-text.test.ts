import { expect, test } from 'vitest'
import { readPrompt } from './prompt.ts'
import { readRequest } from './reading.ts'
import { speak } from './speak.ts'

const LENGTH = 100_000

test.each([
  ['digits', '7'],
  ['digits and blanks', '7 '],
  ['a word for an order', 'заказ '],
  ['numbered orders', 'заказ 5501, '],
  ['blanks', ' '],
  ['letters', 'щ'],
  ['at signs', 'a@'],
  ['brackets', '['],
  ['opening tags', '<request>\n'],
  ['halves of an emoji', '\ud83d'],
  ['zero characters', '\0'],
])('a hundred thousand characters of %s are read in a blink', (_, unit) => {
  const content = `заказ ${unit.repeat(LENGTH / unit.length)}`
  const chat = { model: 'GigaChat', messages: [{ role: 'user' as const, content }] }
  const startedAt = performance.now()

  const reading = readRequest(readPrompt(chat))
  const said = speak(chat)

  expect(performance.now() - startedAt).toBeLessThan(2_000)
  expect(reading.orderNumbers.length).toBeLessThanOrEqual(10)
  expect(said.kind).toBe('text')
})
