import { Problem } from './problem.ts'

/**
 * What the client throws. `code` is the server's, or one of the client's own: UNREACHABLE (no answer came; `status` is 0)
 * and UNEXPECTED_ANSWER (something else than a Foothold server answered).
 */
export class ApiError extends Error {
  override readonly name: string = 'ApiError'
  readonly code: string
  readonly status: number
  readonly details: unknown
  readonly requestId: string | null
  /** What the server asked to wait, by Retry-After. */
  readonly retryAfterMs: number | null

  constructor(message: string, fields: ApiErrorFields, options?: { readonly cause?: unknown }) {
    super(message, options)
    this.code = fields.code
    this.status = fields.status
    this.details = fields.details ?? null
    this.requestId = fields.requestId ?? null
    this.retryAfterMs = fields.retryAfterMs ?? null
  }
}

export interface ApiErrorFields {
  readonly code: string
  readonly status: number
  readonly details?: unknown
  readonly requestId?: string | null
  readonly retryAfterMs?: number | null
}

export function unreachable(url: string, cause: unknown): ApiError {
  const why = cause instanceof Error ? (cause.cause instanceof Error ? cause.cause.message : cause.message) : ''
  return new ApiError(`No answer from ${url}: ${why}`, { code: 'UNREACHABLE', status: 0 }, { cause })
}

export function unexpectedAnswer(response: Response, what: string, cause?: unknown): ApiError {
  return new ApiError(
    `${response.url || 'The server'} answered ${response.status} with ${what}: is this a Foothold server, and this its base address?`,
    { code: 'UNEXPECTED_ANSWER', status: response.status, retryAfterMs: retryAfterMs(response) },
    { cause },
  )
}

export function refusalOf(response: Response, text: string): ApiError {
  const problem = Problem.safeParse(jsonOrNull(text))
  if (!problem.success) return unexpectedAnswer(response, JSON.stringify(text.slice(0, 120)))
  const { detail, code, status, details, requestId } = problem.data
  return new ApiError(detail, { code, status, details, requestId, retryAfterMs: retryAfterMs(response) })
}

function jsonOrNull(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

/** Seconds only: our server sends no dates. */
function retryAfterMs(response: Response): number | null {
  const header = response.headers.get('retry-after')
  return header !== null && /^\d{1,6}$/.test(header) ? Number(header) * 1_000 : null
}
