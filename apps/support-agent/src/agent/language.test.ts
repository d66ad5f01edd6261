import { expect, test } from 'vitest'
import { languageOf, personWillAnswer } from './language.ts'

test.each([
  ['Где мой заказ 5501?', 'ru'],
  ['Where is my order 5501?', 'en'],
  ['Не работает Espresso grinder Mill-2, помогите', 'ru'],
  ['Де моє замовлення? Чекаю вже тиждень', 'uk'],
  ['Менің тапсырысым қайда?', 'kk'],
  ['5501?', 'ru'],
])('%s is %s', (text, language) => {
  expect(languageOf(text, undefined)).toBe(language)
})

test('a declared language wins over the letters', () => {
  expect(languageOf('5501', 'de-AT')).toBe('de')
})

test('a language that we have no words for is answered in English', () => {
  expect(personWillAnswer('sw')).toBe(personWillAnswer('en'))
  expect(personWillAnswer('ru-RU')).toContain('специалисту')
})
