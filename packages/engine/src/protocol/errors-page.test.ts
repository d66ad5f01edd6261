import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { ERROR_CODES } from './errors.ts'
import { REASONS } from './reasons.ts'

/** The codes in the first column of a page's first table. */
function listedIn(page: string): string[] {
  const text = readFileSync(new URL(`../../../../docs/${page}`, import.meta.url), 'utf8')
  const firstTable = /(?:^\|.*\n)+/m.exec(text)?.[0] ?? ''
  return [...firstTable.matchAll(/^\| `(\w+)`/gm)].map((match) => match[1] as string)
}

test('docs/errors.md lists exactly the codes that the engine throws, in their order', () => {
  expect(listedIn('errors.md')).toEqual(ERROR_CODES)
})

test('docs/reasons.md lists exactly the reasons that the engine exports, in their order', () => {
  expect(listedIn('reasons.md')).toEqual(REASONS)
})
