import { randomOf } from './random.ts'

/** What happens when, from a seed alone: the same seed gives the same faults at the same times to the same workers. */

/** How often each comes, against the others. The ones that stop everybody are rare, so that work is done in between. */
const WEIGHTS = {
  'kill -9': 10,
  'SIGSTOP, short': 4,
  'SIGSTOP, long': 6,
  SIGTERM: 8,
  'loop blocked': 4,
  'answer cut': 14,
  'request cut': 6,
  'packets swallowed': 4,
  'backends terminated': 3,
  'database restarted, fast': 2,
  'database restarted, immediate': 2,
  'server paused': 2,
  'clock off': 2,
} as const

export type FaultKind = keyof typeof WEIGHTS

export const FAULT_KINDS = Object.keys(WEIGHTS) as readonly FaultKind[]

/** They stop everybody: not two of them within three leases, and nothing that is counted against a drain near them. */
const OF_THE_SERVER = [
  'backends terminated',
  'database restarted, fast',
  'database restarted, immediate',
  'server paused',
] as const

export type ServerFaultKind = (typeof OF_THE_SERVER)[number]

export function isOfTheServer(kind: FaultKind): kind is ServerFaultKind {
  return OF_THE_SERVER.some((one) => one === kind)
}

export interface Fault {
  readonly atMs: number
  readonly kind: FaultKind
  /** The worker it hits; of no meaning where the server is hit. */
  readonly slot: number
  /** How long it lasts; 0 where it is over at once. */
  readonly forMs: number
  /** Which of the choices a kind has: the statement to cut, the way a clock goes wrong. */
  readonly choice: number
}

export interface PlanOptions {
  readonly seed: number
  readonly durationMs: number
  readonly slots: number
  readonly leaseMs: number
  readonly kinds?: readonly FaultKind[]
}

const GAP_MS = { min: 300, max: 2_100 }

export function planFaults({ seed, durationMs, slots, leaseMs, kinds = FAULT_KINDS }: PlanOptions): readonly Fault[] {
  const random = randomOf(seed)
  const between = (min: number, max: number): number => Math.round(min + random() * (max - min))
  const faults: Fault[] = []
  let serverFreeAtMs = 3 * leaseMs
  for (let atMs = between(GAP_MS.min, GAP_MS.max); atMs < durationMs; atMs += between(GAP_MS.min, GAP_MS.max)) {
    // Drawn in the same order whatever is chosen: a kind left out does not move the others.
    const draws = [random(), random(), random(), random()] as const
    const kind = chosen(kinds, draws[0])
    if (isOfTheServer(kind)) {
      if (atMs < serverFreeAtMs) continue
      serverFreeAtMs = atMs + 3 * leaseMs
    }
    faults.push({
      atMs,
      kind,
      slot: Math.floor(draws[1] * slots),
      forMs: Math.round(lasts(kind, leaseMs, draws[2])),
      choice: Math.floor(draws[3] * 1_000),
    })
  }
  return faults
}

function chosen(kinds: readonly FaultKind[], draw: number): FaultKind {
  let left = draw * kinds.reduce((sum, kind) => sum + WEIGHTS[kind], 0)
  for (const kind of kinds) {
    left -= WEIGHTS[kind]
    if (left < 0) return kind
  }
  return kinds[kinds.length - 1] as FaultKind
}

function lasts(kind: FaultKind, leaseMs: number, draw: number): number {
  const leases = {
    'SIGSTOP, short': [0.1, 0.6],
    'SIGSTOP, long': [2, 5],
    'loop blocked': [0.2, 2],
    'packets swallowed': [0.5, 2.5],
    'server paused': [0.5, 2],
  }[kind as string]
  return leases === undefined
    ? 0
    : leaseMs * ((leases[0] as number) + draw * ((leases[1] as number) - (leases[0] as number)))
}
