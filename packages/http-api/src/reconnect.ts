import { ApiError } from './api-error.ts'

const DELAY_MAX_MS = 30_000

export interface Setback {
  /** Connections in a row that gave nothing; 0 after a stream that ended in good order. */
  readonly failures: number
  /** The server's `retry:`, or the client's own. */
  readonly hintMs: number
  /** What a refusal asked to wait at least. */
  readonly retryAfterMs: number | null
  /** 0 up to 1. */
  readonly random: number
}

/** Doubles per failure and is spread by half, so that the watchers of a restarted server do not come back as one. */
export function reconnectDelayMs({ failures, hintMs, retryAfterMs, random }: Setback): number {
  const doubledMs = Math.min(DELAY_MAX_MS, hintMs * 2 ** Math.min(failures, 20))
  const spreadMs = doubledMs * (0.5 + random / 2)
  return Math.round(Math.max(spreadMs, retryAfterMs ?? 0))
}

/** True where the same request may well succeed later. */
export function isPassing(error: unknown): boolean {
  if (!(error instanceof ApiError)) return false
  return error.code === 'UNREACHABLE' || error.status >= 500 || [408, 425, 429].includes(error.status)
}
