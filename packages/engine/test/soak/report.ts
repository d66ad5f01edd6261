import type { Injected } from './faults.ts'
import type { Findings } from './findings.ts'
import { GUARDS, type GuardName, type Verdict } from './guards.ts'
import { FAULT_KINDS } from './plan.ts'

export interface Row {
  readonly name: Verdict
  readonly found: readonly string[]
  /** Of how many it could have happened to. */
  readonly of: number
  readonly unit: string
}

/** What must be 0. */
export function verdictsOf(findings: Findings): readonly Row[] {
  const { accepted, completed } = findings
  return [
    { name: 'lost', found: findings.lost, of: accepted, unit: 'accepted tasks' },
    { name: 'stuck', found: findings.stuck, of: accepted, unit: 'accepted tasks' },
    { name: 'zombie writes', found: findings.zombies, of: findings.writes, unit: 'writes of steps and ends' },
    { name: 'effects doubled', found: findings.doubled, of: findings.onceEffects, unit: 'effects promised once' },
    { name: 'diverged', found: findings.diverged, of: completed, unit: 'completed tasks' },
    { name: 'steps run again', found: findings.runAgain, of: findings.storedSteps, unit: 'stored steps' },
    { name: 'abandoned', found: findings.abandoned, of: findings.heldAtStop, unit: 'tasks held at a lone SIGTERM' },
  ]
}

/** Nothing in N tries: the rate is below 3/N, with 95 % confidence. */
export function boundOf({ found, of }: Pick<Row, 'found' | 'of'>): string {
  if (found.length > 0) return ''
  return of === 0 ? 'no statement: 0 tries' : `< 3/${of} = ${(300 / of).toPrecision(2)} %`
}

export function reportOf(run: {
  readonly command: string
  readonly findings: Findings
  readonly injected: readonly Injected[]
  readonly cuts: number
  readonly resumed: number
  readonly without: readonly GuardName[]
  readonly seconds: number
}): string {
  const { findings, injected, without } = run
  const rows = verdictsOf(findings)
  const table = [
    ['', 'found', 'of', '', 'bound'],
    ...rows.map((row) => [row.name, String(row.found.length), String(row.of), row.unit, boundOf(row)]),
  ]
  const widths = [0, 1, 2, 3].map((column) => Math.max(...table.map((cells) => (cells[column] as string).length)))
  const lines = [
    `${run.command}   (${Math.round(run.seconds)} s of faults)`,
    ...without.map((name) => `WITHOUT ${name}: ${GUARDS[name].is}; expected to be red: ${GUARDS[name].reddens}`),
    '',
    `accepted ${findings.accepted}, completed ${findings.completed}; attempts: ${pairs(findings.attempts)}`,
    ...(run.resumed === 0 ? [] : [`dead letters of their workers' crashes, resumed as a person would: ${run.resumed}`]),
    `effects that said "repeat": ${findings.repeatable.repeated} repeated, in ${findings.repeatable.tasks} tasks`,
    '',
    ...table.map(([name = '', found = '', of = '', unit = '', bound = '']) =>
      [
        name.padEnd(widths[0] ?? 0),
        found.padStart(widths[1] ?? 0),
        of.padStart(widths[2] ?? 0),
        unit.padEnd(widths[3] ?? 0),
        bound,
      ]
        .join('  ')
        .trimEnd(),
    ),
    '',
    `faults: ${pairs(Object.fromEntries(FAULT_KINDS.map((kind) => [kind, injected.filter((one) => one.kind === kind).length])))}`,
    `connections cut at a statement: ${run.cuts}`,
    ...Object.entries(findings.recoveries).map(
      ([kind, ms]) =>
        `claimed again after ${kind}: p50 ${quantile(ms, 0.5)} ms, p99 ${quantile(ms, 0.99)} ms, of ${ms.length} tasks`,
    ),
    ...rows.flatMap(({ name, found }) => found.slice(0, 5).map((said) => `${name}: ${said}`)),
  ]
  return lines.join('\n')
}

function pairs(counts: Readonly<Record<string, number>>): string {
  return Object.entries(counts)
    .filter(([, n]) => n > 0)
    .map(([name, n]) => `${n} ${name}`)
    .join('; ')
}

export function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b)
  return Math.round(sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? Number.NaN)
}
