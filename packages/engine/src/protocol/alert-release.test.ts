import { expect, test } from 'vitest'
import { type FailedRelease, failedRelease } from './alert-release.ts'

const startedAt = new Date(0)
const verdict = (failed: readonly string[], before: readonly string[]): FailedRelease['verdict'] =>
  failedRelease(
    failed.map((release) => ({ release, tasks: 1, startedAt })),
    before.map((release) => ({ release, tasks: 5 })),
  ).verdict

test.for([
  { failed: ['2.0'], before: ['1.9'], is: 'new' },
  { failed: ['2.0'], before: ['1.9', '2.0'], is: 'known' },
  { failed: ['2.0'], before: [], is: 'unknown' },
  { failed: ['2.0', '1.9'], before: ['1.9'], is: 'several' },
  { failed: ['unlabelled'], before: ['unlabelled'], is: 'unknown' },
  { failed: [], before: ['1.9'], is: 'unknown' },
] as const)('failures on $failed after completions on $before: $is', ({ failed, before, is }) => {
  expect(verdict(failed, before)).toBe(is)
})
