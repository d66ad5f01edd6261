import type { ProbePoint } from '../lifecycle/probe.ts'

/** Where a run was killed: the nth time that it came by this point with this step. */
export interface KilledAt {
  readonly point: ProbePoint
  readonly key: string | null
  readonly nth: number
}

export interface KillOutcome extends KilledAt {
  /** Null: it survived. */
  readonly problem: string | null
  /** False: how often a task is claimed and parks depends on when things come in, and this time it was less often. */
  readonly isKilled: boolean
  /** Steps whose effect was sent again, as its author said it may be. */
  readonly repeated: readonly string[]
}

export interface KillReport {
  readonly agent: string
  readonly outcomes: readonly KillOutcome[]
  readonly text: string
}

export function killReport(agent: string, outcomes: readonly KillOutcome[]): KillReport {
  const killed = outcomes.filter(({ isKilled }) => isKilled)
  const names = outcomes.map(nameOfPoint)
  const width = Math.max(...names.map((name) => name.length))
  const text = [
    `${agent}: killed at ${killed.length} points, survived ${killed.filter(({ problem }) => problem === null).length}`,
    ...outcomes.map((outcome, n) => `  ${(names[n] as string).padEnd(width)}  ${verdictOf(outcome)}`),
  ].join('\n')
  return { agent, outcomes, text }
}

export function nameOfPoint({ point, key, nth }: KilledAt): string {
  return `${point}${key === null ? '' : ` ${JSON.stringify(key)}`}${nth === 1 ? '' : `, time ${nth}`}`
}

function verdictOf({ problem, isKilled, repeated }: KillOutcome): string {
  if (problem !== null) return `FAILED: ${problem}`
  if (!isKilled) return 'not killed: it came by less often this time'
  return repeated.length === 0 ? 'completed, same output' : `completed, same output; sent again: ${repeated.join(', ')}`
}
