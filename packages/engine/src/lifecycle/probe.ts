/**
 * Named points on the engine's way, for tests that must stop the process exactly there. Nothing is attached in
 * production: a point then costs one comparison.
 */
export type ProbePoint =
  | 'claim.answered'
  | 'step.started'
  | 'step.ran'
  | 'step.stored'
  | 'intent.stored'
  | 'effect.answered'
  | 'effect.stored'
  | 'transaction.ran'
  | 'transaction.committed'
  | 'child.started'
  | 'park.before'
  | 'complete.before'
  | 'complete.after'

export interface ProbeDetail {
  readonly taskId: string
  readonly key: string | null
}

export type Probe = (point: ProbePoint, detail: ProbeDetail) => void | Promise<void>

let attached: Probe | null = null

export function attachProbe(probe: Probe | null): void {
  attached = probe
}

export function reach(point: ProbePoint, taskId: string, key: string | null): void | Promise<void> {
  return attached === null ? undefined : attached(point, { taskId, key })
}
