import { parseArgs } from 'node:util'
import { GUARD_NAMES, GUARDS, type GuardName } from './guards.ts'
import { FAULT_KINDS, type FaultKind } from './plan.ts'

export interface SoakOptions {
  readonly minutes: number
  readonly seed: number
  readonly workers: number
  readonly perSecond: number
  readonly leaseMs: number
  readonly kinds: readonly FaultKind[]
  readonly without: readonly GuardName[]
  /** Workers reach the database through PgBouncer in transaction mode. */
  readonly isPooled: boolean
}

export const USAGE = `npm run soak -- [--minutes 5] [--seed 7] [--workers 4] [--rate 5] [--lease-ms 2000]
  [--faults '<kind>;<kind>']  only these: ${FAULT_KINDS.join('; ')}
  [--pgbouncer]               workers go through PgBouncer in transaction mode (apt-get install pgbouncer)
  [--without <guard>]         a negative control: the run has to be red
${GUARD_NAMES.map((name) => `    ${name.padEnd(8)} ${GUARDS[name].is}`).join('\n')}`

/** Throws with what is wrong and how to put it right. */
export function readSoakOptions(args: readonly string[]): SoakOptions {
  const { values } = parseArgs({
    args: [...args],
    options: {
      minutes: { type: 'string', default: '5' },
      seed: { type: 'string', default: String(Math.floor(Math.random() * 1_000_000)) },
      workers: { type: 'string', default: '4' },
      rate: { type: 'string', default: '5' },
      'lease-ms': { type: 'string', default: '2000' },
      faults: { type: 'string' },
      pgbouncer: { type: 'boolean', default: false },
      without: { type: 'string', multiple: true, default: [] },
    },
  })
  return {
    minutes: numberOf('--minutes', values.minutes, 0.05, 24 * 60),
    seed: numberOf('--seed', values.seed, 0, 2 ** 32),
    workers: numberOf('--workers', values.workers, 2, 50),
    perSecond: numberOf('--rate', values.rate, 0.1, 1_000),
    leaseMs: numberOf('--lease-ms', values['lease-ms'], 400, 600_000),
    kinds: namesOf('--faults', values.faults?.split(';').map((kind) => kind.trim()) ?? FAULT_KINDS, FAULT_KINDS),
    without: namesOf(
      '--without',
      values.without.flatMap((names) => names.split(',')),
      GUARD_NAMES,
    ),
    isPooled: values.pgbouncer,
  }
}

function numberOf(name: string, text: string, min: number, max: number): number {
  const value = Number(text)
  if (text.trim() !== '' && value >= min && value <= max) return value
  throw new RangeError(`${name} is ${JSON.stringify(text)}; give a number from ${min} to ${max}.`)
}

function namesOf<Name extends string>(
  option: string,
  given: readonly string[],
  known: readonly Name[],
): readonly Name[] {
  return given.map((name) => {
    const found = known.find((one) => one === name)
    if (found === undefined)
      throw new RangeError(`${option} ${JSON.stringify(name)} is not one of: ${known.join(', ')}.`)
    return found
  })
}
