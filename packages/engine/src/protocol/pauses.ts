/** What a person has stopped for now: nothing of it is claimed, and what runs is handed over after its current step. */

export const PAUSE_KINDS = ['agent', 'tenant', 'release'] as const
export type PauseKind = (typeof PAUSE_KINDS)[number]

export interface Pause {
  readonly kind: PauseKind
  readonly value: string
  readonly since: Date
  readonly reason: string | null
  readonly by: string | null
}

/** Exactly one of the three. */
export type PauseTarget =
  | { readonly agent: string; readonly tenant?: never; readonly release?: never }
  | { readonly tenant: string; readonly agent?: never; readonly release?: never }
  | { readonly release: string; readonly agent?: never; readonly tenant?: never }

export interface PauseAnswer extends Pause {
  /** False: no worker, task or agent of this name has been seen yet. It is paused all the same, for when it comes. */
  readonly isKnown: boolean
}
