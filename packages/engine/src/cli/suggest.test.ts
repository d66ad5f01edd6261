import { expect, test } from 'vitest'
import { suggest } from './suggest.ts'

const KNOWN = ['migrate', 'worker', 'workers', 'tasks', 'why', 'doctor', 'поиск', 'ответ']

test.each([
  ['migrat', 'migrate'],
  ['mirgate', 'migrate'],
  ['Worker', 'worker'],
  ['tsaks', 'tasks'],
  ['hwy', 'why'],
  ['докtor', null],
  ['повск', 'поиск'],
  ['xyz', null],
  ['', null],
  ['m'.repeat(10_000), null],
])('%j is taken for %j', (word, meant) => {
  expect(suggest(word, KNOWN)).toBe(meant)
})
