import type { Words } from '../screen/words.ts'
import { type Report, verdictOf } from './report.ts'

/** The end of a scripted play, for people. */
export function tableOf(report: Report, words: Words): string[] {
  const { table } = words
  const ms = (value: number | null): string => (value === null ? '-' : `${(value / 1_000).toFixed(2)} s`)
  const rows: (readonly [string, string])[] = [
    [table.done, words.done(report.kills, report.deploys, report.freezes, seconds(report.freezeMs))],
    [table.accepted, String(report.accepted)],
    [table.completed, String(report.completed)],
    [table.lost, counted(report.lost.length, report.lost)],
    [table.recordsDoubled, String(report.recordsDoubled)],
    [table.repliesDoubled, String(report.repliesDoubled)],
    [table.handedOver, String(report.handedOver)],
    [table.orphaned, String(report.orphaned)],
    [table.recovery, `${ms(report.recoveryP50Ms)} / ${ms(report.recoveryP99Ms)}`],
    [table.modelCallsRepeated, String(report.modelCallsRepeated)],
    [table.tokens, words.tokens(String(report.bill.tokensPaid), String(report.bill.tokensWasted))],
  ]
  const width = Math.max(...rows.map(([name]) => name.length))
  const guard = report.guard === 'on' ? words.guardOn : words.guardOff
  return [
    words.playTitle(guard, report.seed, seconds(report.leaseMs), seconds(report.tookMs)),
    ...rows.map(([name, value]) => `  ${name.padEnd(width)}  ${value}`),
    words.verdicts[verdictOf(report)],
  ]
}

const SHOWN_IDS = 8

function counted(count: number, ids: readonly string[]): string {
  if (count === 0) return '0'
  return `${count} (${ids.slice(0, SHOWN_IDS).join(', ')}${count > SHOWN_IDS ? ', …' : ''})`
}

function seconds(ms: number): string {
  return (ms / 1_000).toFixed(1)
}
