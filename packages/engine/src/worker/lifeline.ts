import type pg from 'pg'
import {
  BACKEND_PID,
  BECOME_LOOKOUT,
  DECLARE_LOST,
  LET_GO,
  LIMIT_IDLENESS,
  LOOK,
  type LookRow,
  TAKE_LIFELINE,
} from '../store/lifeline.ts'
import { createLookout, type Lookout } from './lookout.ts'

/**
 * What a session of the heartbeat's thread does besides beating: it holds the worker's lifeline, and when a place is free
 * it is a lookout for the others. Bound to one session; a new session begins anew.
 */
export interface Lifeline {
  /** Takes the lock of this worker, and lets go of the one of its life before. */
  hold(workerId: string): Promise<void>
  isHeldFor(workerId: string): boolean
  /** False: the statements of this session run in another server process than the one that holds the lock. */
  isHeldBy(backendPid: number): boolean
  /** Null until it is a lookout. */
  readonly nextLookAtMs: number | null
  /** Asks for a place among the lookouts, at most once in this session when there is one. */
  tryToLookOut(nowMs: number): Promise<void>
  /** The workers it has just declared lost. */
  look(nowMs: number): Promise<readonly string[]>
}

const LOOK_MS = 100
/** While a lifeline is free. */
const ALARMED_LOOK_MS = 50

/** Null: a pooler gives each statement a session of its own, so that a lock would outlive its holder. */
export async function openLifeline(
  client: pg.Client,
  sessionSinceMs: number,
  connectAnother: () => Promise<pg.Client>,
): Promise<Lifeline | null> {
  if (await isPooled(client, connectAnother)) return null
  await client.query(LIMIT_IDLENESS)
  let held: { readonly workerId: string; readonly no: number; readonly pid: number } | null = null
  let lookout: Lookout | null = null
  let nextLookAtMs: number | null = null

  async function declareLost(row: LookRow): Promise<boolean> {
    const { rowCount } = await client.query(DECLARE_LOST, [row.id, row.heartbeatAt])
    return rowCount === 1
  }

  return {
    get nextLookAtMs() {
      return nextLookAtMs
    },
    async hold(workerId) {
      if (held?.workerId === workerId) return
      const { rows } = await client.query<{ no: number; pid: number }>(TAKE_LIFELINE, [workerId])
      if (held !== null) await client.query(LET_GO, [held.no])
      held = rows[0] === undefined ? null : { workerId, no: rows[0].no, pid: rows[0].pid }
    },
    isHeldFor: (workerId) => held?.workerId === workerId,
    isHeldBy: (backendPid) => held === null || held.pid === backendPid,
    async tryToLookOut(nowMs) {
      if (lookout !== null) return
      const { rowCount } = await client.query(BECOME_LOOKOUT)
      if (rowCount === 0) return
      lookout = createLookout({ workerId: () => held?.workerId ?? '', nowMs, sessionSinceMs })
      nextLookAtMs = nowMs
    },
    async look(nowMs) {
      if (lookout === null) return []
      const { rows } = await client.query<LookRow>(LOOK)
      const lost: string[] = []
      for (const row of lookout.look(nowMs, rows)) if (await declareLost(row)) lost.push(row.id)
      nextLookAtMs = nowMs + (lookout.isAlarmed ? ALARMED_LOOK_MS : LOOK_MS)
      return lost
    },
  }
}

/** Two connections, in turn: through a pooler in transaction mode their statements meet in one server process. */
async function isPooled(client: pg.Client, connectAnother: () => Promise<pg.Client>): Promise<boolean> {
  const another = await connectAnother()
  try {
    const first = await pidOf(client)
    const second = await pidOf(another)
    return first === second || first !== (await pidOf(client))
  } finally {
    await another.end().catch(() => undefined)
  }
}

async function pidOf(client: pg.Client): Promise<number> {
  const { rows } = await client.query<{ pid: number }>(BACKEND_PID)
  return rows[0]?.pid ?? 0
}
