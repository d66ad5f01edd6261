import { attachProbe, type ProbeDetail, type ProbePoint } from '../lifecycle/probe.ts'

/**
 * Stops this process exactly at a named point of the engine's way: inside a step, between an effect's answer and its
 * storing, before a completion. For child processes of tests; one set of points per process.
 */
export interface KillPoint {
  readonly point: ProbePoint
  /** Only at this step; default: at any. */
  readonly key?: string | undefined
  /** Passes the point this often first. Default 0. */
  readonly after?: number | undefined
  /** Default SIGKILL; SIGSTOP freezes the process until SIGCONT. */
  readonly signal?: 'SIGKILL' | 'SIGSTOP' | 'SIGTERM' | undefined
}

export function killAt(...points: readonly KillPoint[]): void {
  const left = points.map((point) => ({ ...point, passes: point.after ?? 0 }))
  attachProbe((point, detail) => {
    const hit = left.find((one) => one.point === point && (one.key === undefined || one.key === detail.key))
    if (hit === undefined || hit.passes-- > 0) return
    left.splice(left.indexOf(hit), 1)
    process.kill(process.pid, hit.signal ?? 'SIGKILL')
    // The signal is on its way; not one more statement may slip out before it.
    if (hit.signal === undefined || hit.signal === 'SIGKILL') return new Promise<void>(() => undefined)
  })
}

export interface HeldPoint {
  /** Resolves when the engine stands there. */
  readonly reached: Promise<ProbeDetail>
  /** Lets it go on; later passes are not held. */
  release(): void
}

/** Holds the engine of this process at a point, for interleavings that must be forced. */
export function holdAt(point: ProbePoint, key?: string): HeldPoint {
  let arrive: (detail: ProbeDetail) => void = () => undefined
  let release: () => void = () => undefined
  const reached = new Promise<ProbeDetail>((resolve) => {
    arrive = resolve
  })
  const released = new Promise<void>((resolve) => {
    release = resolve
  })
  attachProbe((at, detail) => {
    if (at !== point || (key !== undefined && key !== detail.key)) return
    arrive(detail)
    return released
  })
  return {
    reached,
    release() {
      attachProbe(null)
      release()
    },
  }
}
