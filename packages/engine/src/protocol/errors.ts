import type { Reason } from './reasons.ts'

/**
 * Every refusal and surprise has a code; codes are the contract, messages are not. One line here per code: what the
 * message says, from the details the thrower gives. docs/errors.md lists the same codes.
 */
const MESSAGES = {
  DATABASE_URL_MISSING: (): string =>
    'No database URL was given. Set DATABASE_URL, for example postgres://user:password@127.0.0.1:5432/app, or pass it to connect().',
  DATABASE_UNAVAILABLE: (d: { readonly doing: string; readonly waitedMs: number }): string =>
    `PostgreSQL did not answer within ${d.waitedMs} ms while ${d.doing}.`,
  SCHEMA_MISSING: (): string =>
    'The foothold schema is missing, or older than this library: call connect() without `migrate: false` once.',
  SCHEMA_NEWER: (d: { readonly found: number; readonly known: number }): string =>
    `The database's foothold schema is at version ${d.found}, this library knows ${d.known}: update the library.`,
  MIGRATION_CHANGED: (d: { readonly version: number }): string =>
    `Migration ${d.version} was applied with other contents than this library carries: restore the published package.`,
  INVALID_ARGUMENT: (d: { readonly field: string; readonly problem: string; readonly cure?: string }): string =>
    `${d.field}: ${d.problem}.${d.cure === undefined ? '' : ` ${d.cure}`}`,
  INPUT_INVALID: (d: {
    readonly agent: string
    readonly issues: readonly { path: string; message: string }[]
  }): string =>
    `The input does not fit agent ${d.agent}: ${d.issues.map((i) => (i.path === '' ? i.message : `${i.path}: ${i.message}`)).join('; ')}.`,
  PAYLOAD_TOO_LARGE: (d: { readonly field: string; readonly bytes: number; readonly bytesMax: number }): string =>
    `${d.field} takes ${d.bytes} bytes, the limit is ${d.bytesMax}: store it elsewhere and pass a reference.`,
  VALUE_NOT_STORABLE: (d: { readonly field: string; readonly path: string; readonly what: string }): string =>
    `${d.field} cannot be stored: ${d.what} at ${d.path}. Return plain data (JSON values, Date, bigint, Map, Set, Uint8Array).`,
  AGENT_UNKNOWN: (d: { readonly agent: string; readonly known: readonly string[] }): string =>
    `No agent named ${JSON.stringify(d.agent)} is known here. Known: ${d.known.length === 0 ? 'none, start a worker first' : d.known.join(', ')}.`,
  TASK_NOT_FOUND: (d: { readonly taskId: string }): string => `There is no task ${d.taskId}.`,
  SCHEDULE_NOT_FOUND: (d: { readonly schedule: string }): string =>
    `There is no schedule ${JSON.stringify(d.schedule)}.`,
  DEDUPE_CONFLICT: (d: { readonly dedupeKey: string; readonly taskId: string }): string =>
    `Dedupe key ${JSON.stringify(d.dedupeKey)} was used with another input for task ${d.taskId}: use a new key for a new request.`,
  TASK_STATE_CONFLICT: (d: { readonly taskId: string; readonly status: string; readonly wanted: string }): string =>
    `Task ${d.taskId} is ${d.status}; ${d.wanted}.`,
  STEP_NOT_FOUND: (d: { readonly taskId: string; readonly key: string; readonly known: readonly string[] }): string =>
    `Task ${d.taskId} has no step ${JSON.stringify(d.key)}. Its steps: ${d.known.join(', ') || 'none'}.`,
  TASK_DEAD_LETTER: (d: {
    readonly taskId: string
    readonly reason: string
    readonly message: string
    /** Of a child: the step that waited for it. */
    readonly key?: string
  }): string => `Task ${d.taskId} is a dead letter (${d.reason}): ${d.message}`,
  TASK_CANCELLED: (d: { readonly taskId: string; readonly reason: string; readonly key?: string }): string =>
    `Task ${d.taskId} was cancelled: ${d.reason}`,
  RESULT_TIMEOUT: (d: { readonly taskId: string; readonly timeoutMs: number }): string =>
    `Task ${d.taskId} did not end within ${d.timeoutMs} ms; it goes on.`,
  STEP_KEY_REUSED: (d: { readonly key: string; readonly first: string; readonly second: string }): string =>
    `Step key ${JSON.stringify(d.key)} is used twice in one task: first ${d.first}, again ${d.second}. Give each call its own key.`,
  STEP_FAILED: (d: {
    readonly key: string
    readonly reason: string
    readonly tries: number
    readonly message: string
  }): string =>
    `Step ${JSON.stringify(d.key)} failed after ${d.tries} ${d.tries === 1 ? 'try' : 'tries'} (${d.reason}): ${d.message}`,
  STEP_TIMEOUT: (d: { readonly key: string; readonly timeoutMs: number }): string =>
    `Step ${JSON.stringify(d.key)} did not end within ${d.timeoutMs} ms.`,
  /** `key` null: the input. */
  CODE_CHANGED: (d: { readonly key: string | null; readonly expected: string; readonly stored: string }): string =>
    `The code changed under this task: ${d.key === null ? 'its input' : `step ${JSON.stringify(d.key)}`} is stored as ${d.stored}, but this code wants ${d.expected}. It goes on with code that accepts it, or restarted from a step.`,
  EFFECT_UNKNOWN: (d: { readonly key: string }): string =>
    `Nobody can know whether effect ${JSON.stringify(d.key)} happened: a person must look and decide.`,
  EFFECT_REQUEST_CHANGED: (d: { readonly key: string }): string =>
    `Effect ${JSON.stringify(d.key)} was sent with another request before; it is not sent silently in a new form.`,
  ATTEMPT_ENDED: (d: { readonly reason: Reason }): string =>
    `This attempt has ended (${d.reason}); the task goes on elsewhere.`,
  WORKER_STATE: (d: { readonly problem: string }): string => d.problem,
  CLOSED: (): string => 'This Foothold connection was closed.',
} as const

export type ErrorCode = keyof typeof MESSAGES
export type ErrorDetails<Code extends ErrorCode> =
  Parameters<(typeof MESSAGES)[Code]> extends [infer Details] ? Details : Record<never, never>
export const ERROR_CODES: readonly ErrorCode[] = Object.keys(MESSAGES) as ErrorCode[]

export class FootholdError<Code extends ErrorCode = ErrorCode> extends Error {
  override readonly name: string = 'FootholdError'
  readonly code: Code
  readonly details: ErrorDetails<Code>
  readonly '~foothold.error' = true

  constructor(code: Code, details: ErrorDetails<Code>, options?: { readonly cause?: unknown }) {
    super((MESSAGES[code] as (details: unknown) => string)(details), options)
    this.code = code
    this.details = details
  }
}

/** True also for an error of another copy of this package. */
export function isFootholdError<Code extends ErrorCode>(error: unknown, code?: Code): error is FootholdError<Code> {
  if (typeof error !== 'object' || error === null || !('~foothold.error' in error)) return false
  return code === undefined || (error as { code?: unknown }).code === code
}

export interface FailureOptions {
  /** The reason stored with the step and shown in metrics. Default `step_failed`. */
  readonly reason?: Reason | undefined
  readonly cause?: unknown
}

/** Stop: no retry will help. In an effect's `send`: the receiver surely did nothing. */
export class TerminalError extends Error {
  override readonly name: string = 'TerminalError'
  readonly reason: Reason
  readonly '~foothold.failure' = 'terminal' as const

  constructor(message: string, options: FailureOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.reason = options.reason ?? 'step_failed'
  }
}

/** Try again, not before `afterMs`. In an effect's `send`: the receiver surely did nothing. */
export class RetryError extends Error {
  override readonly name: string = 'RetryError'
  readonly reason: Reason
  /** The lower bound of the next delay, for instance a Retry-After. */
  readonly afterMs: number
  readonly '~foothold.failure' = 'retry' as const

  constructor(message: string, options: FailureOptions & { readonly afterMs?: number | undefined } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.reason = options.reason ?? 'step_failed'
    this.afterMs = options.afterMs ?? 0
  }
}

/** Retried by policy, under a reason of its own. In an effect's `send` the outcome is unknown. */
export class ReasonedError extends Error {
  override readonly name: string = 'ReasonedError'
  readonly reason: Reason
  readonly '~foothold.failure' = 'reasoned' as const

  constructor(message: string, options: FailureOptions & { readonly reason: Reason }) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.reason = options.reason ?? 'step_failed'
  }
}
