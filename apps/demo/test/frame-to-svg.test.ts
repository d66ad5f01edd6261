import { expect, test } from 'vitest'
import { frameToSvg } from '../scripts/frame-to-svg.ts'

const CAPTURED = [
  '\u001B[7m k \u001B[0m kill -9  \u001B[32m✔ stored\u001B[39m',
  '╭──╮',
  '│\u001B[1mA<B\u001B[0m│',
  '',
  '',
].join('\n')

test('a captured page becomes a picture of its lines, cell by cell, the same every time', () => {
  const svg = frameToSvg(CAPTURED, { columns: 20, title: 'a & b' })

  expect(frameToSvg(CAPTURED, { columns: 20, title: 'a & b' })).toBe(svg)
  expect(svg).toContain('viewBox="0 0 192 78"')
  expect(svg).toContain('<title>a &amp; b</title>')
  expect(svg).toMatch(/x="121.2" y="25.5" textLength="8.4" [^>]+ fill="#5fd38d">✔</)
  expect(svg).toMatch(/textLength="25.2" [^>]+ font-weight="bold">A&lt;B</)
  for (const left of ['╭', '─', '│', '\u001B']) expect(svg).not.toContain(left)
})
