import { expect, test } from 'vitest'
import { percentile, recoveriesMs } from '../src/play/recovery.ts'
import { type Report, verdictOf } from '../src/play/report.ts'
import { scriptOf } from '../src/play/script.ts'
import { billOf, doubledOf, EMPTY_BILL, lostOf } from '../src/world/bill.ts'
import { arrivals } from '../src/world/requests.ts'

const ACCEPTED = ['R-001', 'R-002', 'R-003'].map((request) => ({ request, task: `task-${request}` }))
const call = (request: string, kind: 'plan' | 'generate', tokens: number, isWhole = true) =>
  ({ task: `task-${request}`, kind, tokens, isWhole }) as const

test('what is lost or doubled is told by id, and what was never accepted counts for nothing', () => {
  const deeds = {
    records: ['R-001', 'R-002', 'R-002', 'X-009', 'X-009'],
    replies: ['R-001', 'R-002', 'X-009'],
    modelCalls: [],
  }

  expect(lostOf(ACCEPTED, deeds)).toEqual(['R-003'])
  expect(doubledOf(ACCEPTED, deeds)).toEqual(['R-002'])
  expect(billOf(ACCEPTED, deeds)).toMatchObject({ accepted: 3, answered: 2, records: 3, recordsDoubled: 1, replies: 2 })
})

test('tokens are wasted where a call was paid for and another had to repeat it', () => {
  const modelCalls = [
    call('R-001', 'plan', 100),
    call('R-001', 'generate', 70, false),
    call('R-001', 'generate', 200),
    call('R-002', 'generate', 40, false),
    call('X-009', 'plan', 999),
  ]

  expect(billOf(ACCEPTED, { records: [], replies: [], modelCalls })).toMatchObject({
    tokensPaid: 410,
    tokensWasted: 70,
    modelCallsRepeated: 1,
  })
})

test('recovery runs from the blow to the next attempt of each task that the worker had in hand', () => {
  const attempt = (task: string, number: number, pid: number, startedAtMs: number, how: 'orphaned' | 'completed') =>
    ({ task, attempt: number, pid, startedAtMs, how }) as const
  const attempts = [
    attempt('a', 1, 10, 100, 'orphaned'),
    attempt('a', 2, 11, 4_000, 'completed'),
    attempt('b', 1, 10, 200, 'completed'),
    attempt('c', 1, 10, 300, 'orphaned'),
  ]

  expect(recoveriesMs([{ pid: 10, atMs: 1_000 }], attempts)).toEqual([3_000])
  expect(percentile([5, 1, 3], 0.5)).toBe(3)
  expect(percentile([], 0.99)).toBeNull()
})

const PROVEN: Report = {
  guard: 'on',
  seed: 1,
  leaseMs: 3_000,
  tookMs: 50_000,
  accepted: 40,
  completed: 40,
  lost: [],
  recordsDoubled: 0,
  repliesDoubled: 0,
  handedOver: 9,
  orphaned: 9,
  recoveryP50Ms: 3_000,
  recoveryP99Ms: 3_500,
  modelCallsRepeated: 4,
  kills: 3,
  deploys: 2,
  freezes: 1,
  freezeMs: 5_500,
  bill: EMPTY_BILL,
}

test.each<[string, Partial<Report>, string]>([
  ['all of it', {}, 'green'],
  ['a lost request', { lost: ['R-001'] }, 'red'],
  ['a doubled record', { recordsDoubled: 1 }, 'red'],
  ['a doubled reply', { repliesDoubled: 1 }, 'red'],
  ['a task that did not complete', { completed: 39 }, 'red'],
  ['too few requests', { accepted: 39, completed: 39 }, 'too_little'],
  ['too few kills', { kills: 2 }, 'too_little'],
  ['too few deploys', { deploys: 1 }, 'too_little'],
  ['no freeze', { freezes: 0 }, 'too_little'],
  ['a freeze within the lease', { freezeMs: 3_000 }, 'too_little'],
])('a play with %s', (_, change, verdict) => {
  expect(verdictOf({ ...PROVEN, ...change })).toBe(verdict)
})

test('a seed gives the same requests and the same script every time, and enough of it for a verdict', () => {
  const first = (seed: number): unknown[] => {
    const coming = arrivals(seed, { round: 'R', gapMs: 900, language: () => 'ru' })
    return Array.from({ length: 20 }, () => coming.next().value)
  }

  expect(first(7)).toEqual(first(7))
  expect(first(8)).not.toEqual(first(7))
  expect(scriptOf(7)).toEqual(scriptOf(7))
  const { requests, moments } = scriptOf(7)
  const acts = moments.map(({ act }) => act)
  const { lost, ...report } = PROVEN
  const count = (act: string): number => acts.filter((one) => one === act).length
  const played = { accepted: requests, completed: requests, kills: count('kill'), deploys: count('deploy') }
  expect(verdictOf({ ...report, lost, ...played, freezes: count('freeze') })).toBe('green')
})
