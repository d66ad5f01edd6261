import type { LookRow } from '../store/lifeline.ts'

/**
 * Decides, from look to look of one unbroken session, which workers are dead: a lifeline was held, then free at two looks,
 * and its worker's heartbeat did not move in between. No clock, no database: both are handed in.
 *
 * One lifeline that breaks is a death. Several at once, or any that breaks around a hole in the looks, may be the server's
 * or the network's doing; whoever is alive is back within the longer patience.
 */
export interface Lookout {
  /** The dead ones, each for as long as looks go on showing it. */
  look(nowMs: number, rows: readonly LookRow[]): readonly LookRow[]
  /** Some lifeline is free: the next look should come sooner. */
  readonly isAlarmed: boolean
}

export interface LookoutOptions {
  /** Itself is never lost: its own lifeline is the session that looks. */
  readonly workerId: () => string
  readonly nowMs: number
  /** Of its session: one that has lasted has seen no restart of the server, whenever its looks began. */
  readonly sessionSinceMs: number
  readonly secondLookMs?: number
}

const SECOND_LOOK_MS = 150
/** 50 workers need 1.1 s to be back after a restart of the server. */
const PATIENCE_MS = 6_000
/** So long after its beginning, or after a hole in its looks, a session has not yet seen everybody come back. */
const UNSTEADY_MS = 10_000
/** Looks come every 100 ms; this long without one, and the server, the network or this process stood still. */
const HOLE_MS = 1_000
/** Lifelines that break within this time of each other have broken together. */
const TOGETHER_MS = 1_000

interface Free {
  readonly sinceMs: number
  /** By this session; else it is the worker's own word that it has one. */
  readonly wasSeenHeld: boolean
  readonly heartbeatAt: string
}

export function createLookout({
  workerId,
  nowMs,
  sessionSinceMs,
  secondLookMs = SECOND_LOOK_MS,
}: LookoutOptions): Lookout {
  const held = new Set<string>()
  const free = new Map<string, Free>()
  let unsteadySinceMs = sessionSinceMs
  let lastLookMs = nowMs

  /** Others whose lifelines broke about then, whatever became of them since. */
  let broken: { readonly id: string; readonly atMs: number }[] = []

  /** What was counted before a hole may have been its beginning. */
  function startAnew(atMs: number): void {
    unsteadySinceMs = atMs
    for (const [id, before] of free) free.set(id, { ...before, sinceMs: atMs })
  }

  function patienceMs(id: string, { sinceMs, wasSeenHeld }: Free): number {
    const isUnsteady = sinceMs - unsteadySinceMs < UNSTEADY_MS
    const isOneOfMany = broken.some((other) => other.id !== id && Math.abs(other.atMs - sinceMs) < TOGETHER_MS)
    return isUnsteady || isOneOfMany || !wasSeenHeld ? PATIENCE_MS : secondLookMs
  }

  function isDead(row: LookRow, atMs: number): boolean {
    const before = free.get(row.id)
    if (before === undefined) {
      const wasSeenHeld = held.delete(row.id)
      if (!wasSeenHeld && !row.hasLifeline) return false
      free.set(row.id, { sinceMs: atMs, wasSeenHeld, heartbeatAt: row.heartbeatAt })
      // One that begins has not taken its lifeline yet: nothing has broken.
      if (wasSeenHeld) broken.push({ id: row.id, atMs })
      return false
    }
    if (before.heartbeatAt !== row.heartbeatAt) {
      // It lives without a lifeline: its lease judges it until it holds one again.
      free.delete(row.id)
      return false
    }
    return atMs - before.sinceMs >= patienceMs(row.id, before)
  }

  return {
    get isAlarmed() {
      return free.size > 0
    },
    look(atMs, rows) {
      if (atMs - lastLookMs > HOLE_MS) startAnew(atMs)
      lastLookMs = atMs
      broken = broken.filter(({ atMs: at }) => atMs - at < PATIENCE_MS + TOGETHER_MS)
      const ids = new Set(rows.map(({ id }) => id))
      for (const id of [...held, ...free.keys()]) {
        if (ids.has(id)) continue
        held.delete(id)
        free.delete(id)
      }
      const dead: LookRow[] = []
      for (const row of rows) {
        if (row.id === workerId()) continue
        if (row.isHeld) {
          held.add(row.id)
          free.delete(row.id)
        } else if (isDead(row, atMs)) dead.push(row)
      }
      return dead
    },
  }
}
