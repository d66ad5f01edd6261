import { randomOf } from '../world/random.ts'

export type Act = 'kill' | 'deploy' | 'freeze'

export interface Moment {
  readonly atMs: number
  readonly act: Act
}

export interface Script {
  readonly requests: number
  readonly gapMs: number
  readonly moments: readonly Moment[]
}

/** Three kills, two deploys and a freeze while requests keep coming; the seed moves them within their second. */
export function scriptOf(seed: number): Script {
  const random = randomOf(seed ^ 0x5eed)
  const moments: readonly (readonly [number, Act])[] = [
    [4_500, 'kill'],
    [10_000, 'deploy'],
    [19_000, 'kill'],
    [26_000, 'freeze'],
    [33_000, 'deploy'],
    [41_000, 'kill'],
  ]
  return {
    requests: 46,
    gapMs: 900,
    moments: moments.map(([atMs, act]) => ({ atMs: Math.round(atMs + 1_000 * random()), act })),
  }
}
