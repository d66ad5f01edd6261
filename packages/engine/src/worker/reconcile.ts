import type { PingRow } from '../store/workers.ts'

/**
 * PING, judged: what this worker runs against what the database says it holds. By (id, attempt), over what was known
 * before the ping was sent and still is, and never while a claim or an ending of the row is unanswered.
 */

export interface KnownAttempt {
  readonly id: string
  readonly attempt: number
  readonly sinceMs: number
  readonly isSettling: boolean
}

export interface Verdict {
  /** Run here, but not held any more. */
  readonly lost: readonly string[]
  readonly cancelled: readonly string[]
  readonly woken: readonly { readonly id: string; readonly wakeSeq: number }[]
  /** Claimed by us in a claim whose answer was lost. */
  readonly adopt: readonly { readonly id: string; readonly attempt: number }[]
  /** Held in our name for two rounds, and nothing here knows why. */
  readonly handBack: readonly { readonly id: string; readonly attempt: number }[]
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
  const lost: string[] = []
  const cancelled: string[] = []
  const woken: { id: string; wakeSeq: number }[] = []
  for (const known of ping.known) {
    const row = held.get(nameOf(known))
    held.delete(nameOf(known))
    if (known.isSettling || known.sinceMs > ping.sentMs) continue
    if (row === undefined) lost.push(known.id)
    else if (row.isCancelRequested) cancelled.push(known.id)
    else woken.push({ id: row.id, wakeSeq: row.wakeSeq })
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
  return { lost, cancelled, woken, adopt, handBack, strangers }
}

function nameOf(row: { readonly id: string; readonly attempt: number }): string {
  return `${row.id}:${row.attempt}`
}
