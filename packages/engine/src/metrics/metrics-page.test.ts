import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { METRICS } from './catalogue.ts'

const page = readFileSync(new URL('../../../../docs/operations.md', import.meta.url), 'utf8')

/** The rows of the page's table of metrics: name, type, labels, meaning. */
function rowsOfPage(): readonly (readonly string[])[] {
  return page
    .split('\n')
    .filter((line) => line.startsWith('| `foothold_'))
    .map((line) => line.split('|').slice(1, 5))
    .filter((cells) => /^ (counter|gauge|histogram) /.test(cells[1] ?? ''))
    .map((cells) => cells.map((cell) => cell.trim()))
}

test('docs/operations.md tells of exactly the metrics that there are, in the same words', () => {
  const rows = Object.values(METRICS).map(({ name, type, labels, help }) => [
    `\`${name}\``,
    type,
    labels.map((label) => `\`${label}\``).join(', '),
    help,
  ])

  expect(rowsOfPage()).toEqual(rows)
})

test('names follow the rules of Prometheus', () => {
  for (const { name, type, labels } of Object.values(METRICS)) {
    expect(name).toMatch(/^foothold_[a-z_]+$/)
    expect(name.endsWith('_total')).toBe(type === 'counter')
    if (type === 'histogram') expect(name).toMatch(/_seconds$/)
    for (const label of labels) expect(['task', 'step', 'tenant', 'worker']).not.toContain(label)
  }
})
