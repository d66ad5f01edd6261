import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { parseCompose } from './compose-file.ts'
import { durationMs, engineGraceMs, ROOT, readDeployFile } from './deploy-files.ts'

const page = readFileSync(join(ROOT, 'docs/deploying.md'), 'utf8')

test('every file that the page on deploying links to is there', () => {
  const links = [...page.matchAll(/\]\(([^)#]+)[^)]*\)/g)].map(([, target]) => target ?? '')

  expect(links.length).toBeGreaterThan(4)
  expect(links.filter((target) => !existsSync(join(ROOT, 'docs', target)))).toEqual([])
})

test('the page tells the grace and the patience that the files have', () => {
  const { services } = parseCompose(readDeployFile('compose.yaml'))
  const stops = [...page.matchAll(/`stop_grace_period: (8s)`/g)].map(([, duration]) => durationMs(duration ?? ''))

  expect(stops).toEqual([durationMs(services['worker-a']?.stop_grace_period ?? '')])
  expect(page).toContain(`(\`graceMs\`, ${engineGraceMs().toLocaleString('en')})`)
})
