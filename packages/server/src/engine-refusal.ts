import { type ErrorCode, type FootholdError, isFootholdError } from 'foothold'
import { HttpProblem, invalidArgument } from './http-problem.ts'

/** The caller can do something about these; whatever is `null` is a fault of ours and told without its inside. */
const STATUS: Readonly<Record<ErrorCode, number | null>> = {
  INVALID_ARGUMENT: 400,
  TASK_NOT_FOUND: 404,
  STEP_NOT_FOUND: 404,
  SCHEDULE_NOT_FOUND: 404,
  DEDUPE_CONFLICT: 409,
  TASK_STATE_CONFLICT: 409,
  PAYLOAD_TOO_LARGE: 413,
  AGENT_UNKNOWN: 422,
  INPUT_INVALID: 422,
  VALUE_NOT_STORABLE: 422,
  DATABASE_UNAVAILABLE: 503,
  CLOSED: 503,
  DATABASE_URL_MISSING: null,
  SCHEMA_MISSING: null,
  SCHEMA_NEWER: null,
  MIGRATION_CHANGED: null,
  TASK_DEAD_LETTER: null,
  TASK_CANCELLED: null,
  RESULT_TIMEOUT: null,
  STEP_KEY_REUSED: null,
  STEP_FAILED: null,
  STEP_TIMEOUT: null,
  CODE_CHANGED: null,
  EFFECT_UNKNOWN: null,
  EFFECT_REQUEST_CHANGED: null,
  ATTEMPT_ENDED: null,
  WORKER_STATE: null,
}

/** A database comes back within seconds of a restart; a caller that asks sooner only adds to its load. */
const RETRY_AFTER_SECONDS = 2

/** Null for what is not the caller's business. */
export function engineRefusal(error: unknown): HttpProblem | null {
  if (!isFootholdError(error)) return null
  const { code, message, details }: FootholdError = error
  // `?? null`: another copy of the engine may know more codes.
  const status = STATUS[code] ?? null
  if (status === null) return null
  if (isFootholdError(error, 'INVALID_ARGUMENT')) return invalidArgument(wireName(error.details.field), error.details)
  const headers: Record<string, string> = status === 503 ? { 'retry-after': String(RETRY_AFTER_SECONDS) } : {}
  return new HttpProblem(status, code, message, { details, headers })
}

/** The engine names its own parameters; on the wire `options.dedupeKey` is `dedupeKey`. */
function wireName(field: string): string {
  return field.replace(/^(?:options|filter)\./, '')
}
