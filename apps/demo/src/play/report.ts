import type { Guard } from '../worker/messages.ts'
import type { Bill } from '../world/bill.ts'

/** A round, counted to its end. */
export interface Report {
  readonly guard: Guard
  readonly seed: number
  readonly leaseMs: number
  readonly tookMs: number
  readonly accepted: number
  readonly completed: number
  readonly lost: readonly string[]
  readonly recordsDoubled: number
  readonly repliesDoubled: number
  readonly handedOver: number
  readonly orphaned: number
  readonly recoveryP50Ms: number | null
  readonly recoveryP99Ms: number | null
  readonly modelCallsRepeated: number
  readonly kills: number
  readonly deploys: number
  readonly freezes: number
  readonly freezeMs: number
  readonly bill: Bill
}

/** Less than this proves nothing. */
export const LEAST = { accepted: 40, kills: 3, deploys: 2, freezes: 1 } as const

export type Verdict = 'green' | 'red' | 'too_little'

export function verdictOf(report: Report): Verdict {
  const { lost, recordsDoubled, repliesDoubled, accepted, completed } = report
  if (lost.length > 0 || recordsDoubled > 0 || repliesDoubled > 0 || completed < accepted) return 'red'
  const isEnough =
    accepted >= LEAST.accepted &&
    report.kills >= LEAST.kills &&
    report.deploys >= LEAST.deploys &&
    report.freezes >= LEAST.freezes &&
    report.freezeMs > report.leaseMs
  return isEnough ? 'green' : 'too_little'
}
