/** Was it the release? What the labels of the failed attempts, and of what was completed before, allow to say. */

export interface ReleaseShare {
  readonly release: string
  readonly tasks: number
}

export interface FailedRelease {
  /**
   * `new`: every failure is on one release that had completed nothing before, while another one had. `known`: a release
   * that had completed tasks before fails now. `several`: old and new fail alike. `unknown`: the labels do not tell.
   */
  readonly verdict: 'new' | 'known' | 'several' | 'unknown'
  readonly failed: readonly (ReleaseShare & { readonly startedAt: Date })[]
  /** Completed before the first failure, of the last thousand tasks before it. */
  readonly completedBefore: readonly ReleaseShare[]
}

/** What workers are called that were not told their release. */
const UNLABELLED = 'unlabelled'

export function failedRelease(
  failed: FailedRelease['failed'],
  completedBefore: FailedRelease['completedBefore'],
): FailedRelease {
  return { verdict: verdictOf(failed, completedBefore), failed, completedBefore }
}

function verdictOf(
  failed: readonly ReleaseShare[],
  completedBefore: readonly ReleaseShare[],
): FailedRelease['verdict'] {
  const [only, ...others] = failed
  if (only === undefined || failed.some(({ release }) => release === UNLABELLED)) return 'unknown'
  if (others.length > 0) return 'several'
  if (completedBefore.some(({ release }) => release === only.release)) return 'known'
  return completedBefore.length > 0 ? 'new' : 'unknown'
}
