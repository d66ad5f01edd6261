import type { Reason } from '../protocol/reasons.ts'
import type { Wait } from '../store/settle.ts'

/** A branch of the agent's function that cannot go on now. */
export interface Branch {
  readonly key: string
  readonly kind: 'retry' | 'sleep' | 'signal' | 'person' | 'approval' | 'child' | 'drain'
  /** On the process's monotonic clock; null: until something comes in. */
  readonly dueAtMs: number | null
  readonly reason: Reason | null
  readonly detail: string | null
  readonly signalName?: string
}

/** The wait of a task whose branches all stand still: until the first of them can go on, for the reason of the last failure. */
export function waitOf(
  branches: readonly Branch[],
  standing: { readonly nowMs: number; readonly wakeSeq: number; readonly failures: number },
): Wait {
  const dueAts = branches.map((branch) => branch.dueAtMs).filter((dueAtMs) => dueAtMs !== null)
  const failed = branches.findLast((branch) => branch.kind === 'retry')
  const person = branches.find((branch) => branch.kind === 'person')
  return {
    wakeSeqSeen: standing.wakeSeq,
    waitingFor: failed !== undefined ? 'retry' : waitKind(branches),
    wakeInMs: dueAts.length === 0 ? null : Math.max(0, Math.min(...dueAts) - standing.nowMs),
    reason: failed?.reason ?? person?.reason ?? null,
    detail: failed?.detail ?? person?.detail ?? null,
    failures: standing.failures,
    branches: branches.filter(isStoredWait).map((branch) => ({
      key: branch.key,
      kind: branch.kind,
      dueInMs: branch.dueAtMs === null ? null : Math.max(0, branch.dueAtMs - standing.nowMs),
    })),
  }
}

/** What is shown where branches wait for several things: first what somebody has to do. */
const WAIT_KINDS = ['person', 'approval', 'signal', 'child'] as const

function waitKind(branches: readonly Branch[]): Wait['waitingFor'] {
  return WAIT_KINDS.find((kind) => branches.some((branch) => branch.kind === kind)) ?? 'sleep'
}

function isStoredWait(branch: Branch): branch is Branch & { readonly kind: 'sleep' | 'signal' } {
  return branch.kind === 'sleep' || branch.kind === 'signal'
}
