import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const ROOT: string = fileURLToPath(new URL('../..', import.meta.url))
export const DEPLOY: string = join(ROOT, 'deploy')

export function readDeployFile(name: string): string {
  return readFileSync(join(DEPLOY, name), 'utf8')
}

/** The engine's own default, from its source: it is no part of the public API. */
export function engineGraceMs(): number {
  const source = readFileSync(join(ROOT, 'packages/engine/src/worker/worker.ts'), 'utf8')
  const found = /^const GRACE_MS = ([\d_]+)$/m.exec(source)?.[1]
  if (found === undefined)
    throw new Error('The default grace is no longer where this check reads it: worker.ts, GRACE_MS.')
  return Number(found.replaceAll('_', ''))
}

/** As Compose writes durations: 8s, 1m30s. */
export function durationMs(text: string): number {
  const parts = [...text.matchAll(/(\d+)(ms|s|m|h)/g)]
  if (parts.length === 0 || parts.map(([part]) => part).join('') !== text) throw new Error(`${text} is no duration.`)
  const unitMs: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 }
  return parts.reduce((sum, [, count, unit]) => sum + Number(count) * (unitMs[unit ?? ''] ?? 0), 0)
}
