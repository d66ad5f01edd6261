import { z } from 'zod'

/** What can be set when GigaChat starts, and changed while it runs. */
export interface GigaChatSettings {
  /** Between two chunks of a stream; 0 for tests. */
  readonly chunkDelayMs: number
  /** How long a token is good from now on; the real one is 30 minutes. */
  readonly tokenLifetimeMs: number
  /** Chat requests at the same time; the real limits are 1 for PERS and 10 for B2B and CORP. */
  readonly parallelMax: number
  /** Token requests in any second. */
  readonly tokenRequestsPerSecond: number
  /** In which unit `expires_at` is said: milliseconds in reality, seconds in the documentation's example. */
  readonly expiresAtUnit: 'ms' | 's'
  /** What the account has for each model; setting it fills the account up to it. */
  readonly tokensLeft: number
}

export const DEFAULT_SETTINGS: GigaChatSettings = {
  chunkDelayMs: 25,
  tokenLifetimeMs: 30 * 60_000,
  parallelMax: 10,
  tokenRequestsPerSecond: 10,
  expiresAtUnit: 'ms',
  tokensLeft: 1_000_000_000,
}

export const settingsChange = z.strictObject({
  chunkDelayMs: z.number().int().min(0).optional(),
  tokenLifetimeMs: z.number().int().min(0).optional(),
  parallelMax: z.number().int().min(0).optional(),
  tokenRequestsPerSecond: z.number().int().min(0).optional(),
  expiresAtUnit: z.enum(['ms', 's']).optional(),
  tokensLeft: z.number().int().min(0).optional(),
})
