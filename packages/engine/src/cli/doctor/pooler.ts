import type { PoolerSample } from '../../store/doctor.ts'
import { type Check, ok, warning } from './check.ts'

export type PoolerKind = 'none' | 'session' | 'transaction'

/**
 * Directly, each connection has one server process of its own for ever, the one it was announced. A pooler announces
 * numbers of its own; one that hands out processes per transaction shares them or changes them between statements.
 */
export function poolerKind([first, second]: readonly [PoolerSample, PoolerSample]): PoolerKind {
  const isShared = first.served.some((pid) => second.served.includes(pid))
  const isChanging = [first, second].some(({ served }) => new Set(served).size > 1)
  if (isShared || isChanging) return 'transaction'
  return [first, second].every(({ announced, served }) => served.every((pid) => pid === announced)) ? 'none' : 'session'
}

export function poolerCheck(name: string, samples: readonly [PoolerSample, PoolerSample]): Check {
  switch (poolerKind(samples)) {
    case 'none':
      return ok(name, 'none: connections lead to the server itself')
    case 'session':
      return ok(name, 'in session mode: each connection keeps its server process')
    case 'transaction':
      return warning(
        name,
        'in transaction mode: no LISTEN and no session locks through it, so workers hear of new tasks by polling',
        'Give workers a session-level address: foothold worker --direct-url, or directUrl of connect().',
      )
  }
}
