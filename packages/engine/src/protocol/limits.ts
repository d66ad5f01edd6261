/** How much of an agent, a tenant or a limit key may run at once, and how much of it may start per period. */

export const LIMIT_KINDS = ['agent', 'tenant', 'key'] as const
export type LimitKind = (typeof LIMIT_KINDS)[number]

/** As the value of a limit: each one that has no limit of its own. */
export const EACH = '*'

/** Exactly one of the three. `'*'`: each agent, tenant or key that has no limit of its own. */
export type LimitTarget =
  | { readonly agent: string; readonly tenant?: never; readonly key?: never }
  | { readonly tenant: string; readonly agent?: never; readonly key?: never }
  | { readonly key: string; readonly agent?: never; readonly tenant?: never }

export interface Rate {
  /** Starts in any `periodMs`. At most 1,000: a higher rate is one of a shorter period. */
  readonly count: number
  readonly periodMs: number
}

export interface LimitOptions {
  /** Tasks at once, in all workers together. */
  readonly concurrency?: number | undefined
  /** Not for `'*'`. A task that goes on after a wait, an error or a deploy starts anew. */
  readonly rate?: Rate | undefined
  readonly by?: string | undefined
}

export interface Limit {
  readonly kind: LimitKind
  readonly value: string
  readonly concurrency: number | null
  readonly rate: Rate | null
  readonly setAt: Date
  readonly by: string | null
  /** Running now; null for `'*'`. */
  readonly running: number | null
  /** Set aside until there is room; counted among 100,000 of all limits, null for `'*'`. */
  readonly waiting: number | null
}
