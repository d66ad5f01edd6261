import { randomUUID } from 'node:crypto'
import { reach } from '../lifecycle/probe.ts'
import { sleep } from '../lifecycle/sleep.ts'
import { claimTasks, hasSuspects } from '../store/claim.ts'
import { BEGINNING, type Claim, type ClaimedId, type ClaimRequest } from '../store/claimable.ts'
import type { Database } from '../store/database.ts'
import { setLimitedAside } from '../store/limits.ts'

/**
 * Claims while there is room. Polling is the truth: every 50 ms in the first second of idleness, then slower; an
 * announcement only shortens the pause.
 */

const POLL_MS = 50
/** The claim in turn costs five times the plain one: a fleet that waits for room must not keep the database busy. */
const POLL_IN_TURN_MS = 200
const EAGER_MS = 1_000
const POLL_MAX_MS = 1_000
/** Bounds what one lost answer can leave to reconcile. */
const CLAIM_MAX = 100
/** Every tenth claim goes by age alone, so that urgent work cannot starve the rest. */
const OLDEST_EVERY = 10
const SUSPECTS_EVERY_MS = 2_000
/** How often for what other releases have refused; where there is more of it, in every second look and half of the slots. */
const REFUSED_EVERY_MS = 2_000
/** So that claiming goes on beside a limit's hundred thousand: the rest is set aside after the next claim. */
const MOVES_MAX = 4
/** Lanes are looked at a window at a time; so many windows before a pause. */
const WINDOWS_MAX = 8

export interface ClaimLoop {
  /** Something is pending, or a slot is free. */
  wake(): void
  readonly claimsUnderWay: ReadonlySet<string>
  readonly claimsLost: Set<string>
  /** Resolves when no claim is under way any more and what it brought has been given to `onClaimed`. */
  stop(): Promise<void>
}

export interface ClaimLoopOptions {
  readonly db: Database
  readonly workerId: () => string
  readonly handlers: readonly string[]
  readonly freeSlots: () => number
  readonly isIdle: () => boolean
  /** Resolves when they have been loaded and started, or handed back. */
  readonly onClaimed: (ids: readonly ClaimedId[]) => Promise<void>
  readonly onError: (error: unknown) => void
}

export function startClaimLoop(options: ClaimLoopOptions): ClaimLoop {
  const { db, freeSlots, isIdle, onClaimed, onError } = options
  const stopping = new AbortController()
  const underWay = new Set<string>()
  const lost = new Set<string>()
  let waking = new AbortController()
  let round = 0
  /** Where the claim before ended: not null, the next one goes in turn. */
  let nextTurn: Claim['nextTurn'] = BEGINNING
  let windows = 0
  let idleSinceMs = Date.now()
  let suspectsSeenAtMs = 0
  let refusedSeenAtMs = 0
  let hasMoreRefused = false
  let isRefusedTurn = false
  /** A suspect waits: claim nothing else, and when all is done, run it alone. */
  let isClearing = false
  /** It runs: whatever else were claimed now would share its fate. */
  let runsSuspect = false

  async function claim(limit: number, kind: ClaimRequest['kind']): Promise<Claim> {
    const claimId = randomUUID()
    underWay.add(claimId)
    try {
      round += 1
      const answer = await claimTasks(db, {
        workerId: options.workerId(),
        claimId,
        handlers: rotated(options.handlers, round),
        limit,
        oldestFirst: round % OLDEST_EVERY === 0,
        kind,
        turn: kind === 'pending' ? nextTurn : null,
      })
      if (kind === 'pending') nextTurn = answer.nextTurn
      if (answer.claimed.length > 0) {
        await reach('claim.answered', answer.claimed[0]?.id ?? '', null)
        await onClaimed(answer.claimed)
      }
      return answer
    } catch (error) {
      // The statement may have been carried out; the next pings adopt what it claimed.
      lost.add(claimId)
      onError(error)
      return { claimed: [], setAside: 0, nextTurn }
    } finally {
      underWay.delete(claimId)
    }
  }

  /** Whether to look again at once. */
  async function claimMany(): Promise<boolean> {
    const limit = Math.min(freeSlots(), CLAIM_MAX)
    if (limit === 0) return false
    const { claimed, setAside } = await claim(limit, 'pending')
    for (let move = 0; setAside > 0 && move < MOVES_MAX && !stopping.signal.aborted; move += 1) {
      if ((await setLimitedAside(db, options.workerId())) === 0) break
    }
    windows = nextTurn === null || nextTurn.afterLane === '' ? 0 : windows + 1
    return claimed.length === limit || setAside > 0 || windows % WINDOWS_MAX > 0
  }

  async function look(): Promise<boolean> {
    if (runsSuspect) {
      if (!isIdle()) return false
      runsSuspect = false
    }
    if (Date.now() - suspectsSeenAtMs > SUSPECTS_EVERY_MS) {
      suspectsSeenAtMs = Date.now()
      isClearing = await hasSuspects(db, options.workerId(), options.handlers)
    }
    if (isClearing) {
      if (!isIdle()) return false
      isClearing = false
      runsSuspect = (await claim(1, 'suspects')).claimed.length > 0
      return runsSuspect
    }
    await lookForRefused()
    return claimMany()
  }

  /** A backlog of them must not hold up what is new, nor wait for ever behind it. */
  async function lookForRefused(): Promise<void> {
    isRefusedTurn = !isRefusedTurn
    const isDue = Date.now() - refusedSeenAtMs > REFUSED_EVERY_MS || (hasMoreRefused && isRefusedTurn)
    if (!isDue || freeSlots() === 0) return
    refusedSeenAtMs = Date.now()
    const limit = Math.min(Math.ceil(freeSlots() / 2), CLAIM_MAX)
    hasMoreRefused = (await claim(limit, 'refused')).claimed.length === limit
  }

  async function turn(): Promise<void> {
    while (!stopping.signal.aborted) {
      waking = new AbortController()
      let hasMore = false
      try {
        hasMore = await look()
      } catch (error) {
        onError(error)
      }
      if (hasMore) {
        idleSinceMs = Date.now()
        continue
      }
      const outcome = await sleep(
        pauseMs(Date.now() - idleSinceMs, nextTurn === null ? POLL_MS : POLL_IN_TURN_MS),
        waking.signal,
      )
      if (outcome === 'aborted') idleSinceMs = Date.now()
    }
  }
  const turning = turn()

  return {
    wake: () => waking.abort(),
    claimsUnderWay: underWay,
    claimsLost: lost,
    async stop() {
      stopping.abort()
      waking.abort()
      await turning
    },
  }
}

function pauseMs(idleMs: number, leastMs: number): number {
  if (idleMs < EAGER_MS) return leastMs
  const fullMs = Math.min(POLL_MAX_MS, leastMs + (idleMs - EAGER_MS) / 4)
  return fullMs * (0.75 + Math.random() * 0.25)
}

/** No handler is always first: with a limit, the first ones would take it all. */
function rotated(handlers: readonly string[], round: number): readonly string[] {
  const start = round % Math.max(1, handlers.length)
  return [...handlers.slice(start), ...handlers.slice(0, start)]
}
