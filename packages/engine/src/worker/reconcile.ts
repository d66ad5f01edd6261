import type { PingRow } from '../store/workers.ts'

/**
 * PING, judged: what this worker runs against what the database says it holds. By (id, attempt), over what was known
 * before the ping was sent and still is, and never while a claim or an ending of the row is unanswered.
 */

export interface AttemptId {
  readonly id: string
  readonly attempt: number
}

export interface KnownAttempt extends AttemptId {
  readonly sinceMs: number
  readonly isSettling: boolean
}

export interface Verdict {
  /** Run here, but not held any more. */
  readonly lost: readonly AttemptId[]
  readonly cancelled: readonly AttemptId[]
  /** A person has paused what they belong to. */
  readonly paused: readonly AttemptId[]
  readonly woken: readonly (AttemptId & { readonly wakeSeq: number })[]
  /** Claimed by us in a claim whose answer was lost. */
  readonly adopt: readonly AttemptId[]
  /** Held in our name for two rounds, and nothing here knows why. */
  readonly handBack: readonly AttemptId[]
  /** To be handed in with the next round. */
  readonly strangers: ReadonlySet<string>
}

export function judgePing(ping: {
  readonly sentMs: number
  readonly rows: readonly PingRow[]
  readonly known: readonly KnownAttempt[]
  /** Claims under way: their rows may be anywhere between the database and us. */
  readonly claimsUnderWay: ReadonlySet<string>
  /** Claims that ended without an answer. */
  readonly claimsLost: ReadonlySet<string>
  readonly strangersBefore: ReadonlySet<string>
}): Verdict {
  const held = new Map(ping.rows.map((row) => [nameOf(row), row]))
  const lost: AttemptId[] = []
  const cancelled: AttemptId[] = []
  const paused: AttemptId[] = []
  const woken: (AttemptId & { readonly wakeSeq: number })[] = []
  for (const known of ping.known) {
    const row = held.get(nameOf(known))
    held.delete(nameOf(known))
    if (known.isSettling || known.sinceMs > ping.sentMs) continue
    if (row === undefined) {
      lost.push(known)
    } else if (row.isCancelRequested) {
      cancelled.push(known)
    } else {
      woken.push(row)
      if (row.isPaused) paused.push(known)
    }
  }

  const adopt: PingRow[] = []
  const handBack: PingRow[] = []
  const strangers = new Set<string>()
  for (const [name, row] of held) {
    if (row.claimId !== null && ping.claimsUnderWay.has(row.claimId)) continue
    if (row.claimId !== null && ping.claimsLost.has(row.claimId)) adopt.push(row)
    else if (ping.strangersBefore.has(name)) handBack.push(row)
    else strangers.add(name)
  }
  return { lost, cancelled, paused, woken, adopt, handBack, strangers }
}

export function nameOf(row: AttemptId): string {
  return `${row.id}:${row.attempt}`
}
