import type { AgentRef, Signal } from './agent.ts'
import type { Approval, ApprovalQuestion } from './approvals.ts'
import type { Stored } from './stored.ts'
import type { Priority } from './views.ts'

declare const brand: unique symbol
/** A task's id: a UUID, version 7, in lower case. */
export type TaskId = string & { readonly [brand]: 'TaskId' }

export interface RetryPolicy {
  /** Tries of one step in all, the first included. Default 5. */
  readonly attemptsMax?: number | undefined
  /** Delay before the second try; doubles from there, with full jitter. Default 1,000. */
  readonly firstDelayMs?: number | undefined
  /** Default 60,000. */
  readonly delayMaxMs?: number | undefined
}

export interface StepOptions {
  readonly retry?: RetryPolicy | undefined
  /** Limit of one try. Default 300,000 (an effect: 30,000). */
  readonly timeoutMs?: number | undefined
  /** Default 1. A stored result of another version is refused: the task stops as `code_changed`. */
  readonly version?: number | undefined
}

/** Tokens of one model call. `isEstimated`: the call ended before the provider said. */
export interface Usage {
  readonly model: string
  readonly inputTokens: number
  readonly outputTokens: number
  readonly isEstimated?: boolean | undefined
}

export interface StepContext {
  /** Aborts when this try must stop; `signal.reason` is a FootholdError whose code says why. */
  readonly signal: AbortSignal
  /** 1 for the first try; counts on over attempts. */
  readonly tries: number
  /** Shows a piece of the result to watchers while it comes. A later try supersedes the earlier one's chunks. */
  readonly emit: (channel: string, chunk: string) => void
  /** Stored with the step and shown as its cost. Called again, it replaces what was said before. */
  readonly recordUsage: (usage: Usage) => void
}

export interface EffectContext extends StepContext {
  /** The same for every repetition of this request; changes only after a definite refusal. */
  readonly idempotencyKey: string
}

interface EffectCommon<Request, Result> extends StepOptions {
  /** Stored before it leaves, sent again byte for byte. */
  readonly request: Request
  /**
   * Sends it once. Throw TerminalError or RetryError only where the receiver surely did nothing (a refusal, a 429, a
   * connection that was never made); whatever else is thrown leaves the outcome unknown.
   */
  send(request: Request, context: EffectContext): Promise<Stored<Result>>
}
/** The receiver keeps idempotency keys: effectively once. */
export interface KeyedEffect<Request, Result> extends EffectCommon<Request, Result> {
  /** How long the receiver remembers a key. */
  readonly keyWindowMs: number
  /** Asked once the window has passed; without it a person is asked. */
  find?(request: Request, context: EffectContext): Promise<Stored<Result> | null>
  readonly onDoubt?: never
}
/** The receiver can be asked whether it did it: effectively once. */
export interface FindableEffect<Request, Result> extends EffectCommon<Request, Result> {
  find(request: Request, context: EffectContext): Promise<Stored<Result> | null>
  /** How long the receiver may take until a created record can be found. */
  readonly findLagMs: number
  readonly keyWindowMs?: never
  readonly onDoubt?: never
}
/** Neither: `repeat` is at least once, `ask` parks the task for a person. */
export interface UncheckedEffect<Request, Result> extends EffectCommon<Request, Result> {
  readonly onDoubt: 'repeat' | 'ask'
  readonly keyWindowMs?: never
  readonly find?: never
}
/** At most once: the author handles the unknown outcome. */
export interface StoppingEffect<Request, Result> extends EffectCommon<Request, Result> {
  readonly onDoubt: 'stop'
  readonly keyWindowMs?: never
  readonly find?: never
}
export type Effect<Request, Result> =
  | KeyedEffect<Request, Result>
  | FindableEffect<Request, Result>
  | UncheckedEffect<Request, Result>
export type OnceResult<Result> = { readonly outcome: 'done'; readonly result: Result } | { readonly outcome: 'unknown' }

/** The one method asked of a database connection: `pg`'s clients have it, other drivers need a few lines. */
export interface Queryable {
  // biome-ignore lint: rows are as untyped as the driver's own.
  query(
    text: string,
    values?: unknown[],
    // oxlint-disable-next-line typescript/no-explicit-any -- rows are as untyped as the driver's own
  ): Promise<{ readonly rows: any[]; readonly rowCount: number | null }>
}

/** Both default to the parent's own. */
export interface ChildOptions {
  readonly priority?: Priority | undefined
  readonly tenant?: string | undefined
}

export interface ChildrenOptions extends ChildOptions {
  /** 1 to 1,000. */
  readonly atOnce: number
}

/** What an agent's function is given. Every method that stores something takes a key, unique in the task, first. */
export interface TaskContext {
  readonly id: TaskId
  readonly agent: string
  readonly version: number
  readonly attempt: number
  readonly tenant: string | null
  /** Of a task that a schedule made: the tick, which lies in the past when it was caught up. */
  readonly tickAt: Date | null
  /** Aborts with the reason when the attempt must stop: a deploy, cancel, a lost lease, the deadline. */
  readonly signal: AbortSignal

  /** Safe to repeat, stored once; resolves after the commit with the value as a resume would see it. */
  step<Result>(
    key: string,
    run: (context: StepContext) => Stored<Result> | Promise<Stored<Result>>,
    options?: StepOptions,
  ): Promise<Result>
  /** The function's own writes to this database and its result commit together. */
  transaction<Result>(
    key: string,
    run: (sql: Queryable, context: StepContext) => Promise<Stored<Result>>,
    options?: StepOptions,
  ): Promise<Result>
  /** Changes something outside the database. The promise follows from what is given, see docs/protocol.md. */
  effect<Request, Result>(key: string, effect: StoppingEffect<Request, Result>): Promise<OnceResult<Result>>
  effect<Request, Result>(key: string, effect: Effect<Request, Result>): Promise<Result>

  /** Costs no slot and no memory while it lasts. */
  sleep(key: string, forMs: number): Promise<void>
  sleepUntil(key: string, at: Date): Promise<void>
  waitForSignal<Payload>(key: string, signal: Signal<Payload>): Promise<Payload>
  waitForSignal<Payload>(
    key: string,
    signal: Signal<Payload>,
    options: { readonly timeoutMs: number },
  ): Promise<Payload | null>

  /** Asks a person, without holding a slot; answered by `foothold.approve` or on the command line. */
  approval(key: string, question: ApprovalQuestion): Promise<Approval>

  /**
   * Starts a child task, one per key whatever restarts, and waits for its output without holding a slot. Throws
   * TASK_DEAD_LETTER or TASK_CANCELLED with the child's id when it ended so, the same in every replay.
   */
  child<Input, Output>(
    key: string,
    agent: AgentRef<string, Input, Output>,
    input: NoInfer<Input>,
    options?: ChildOptions,
  ): Promise<Output>
  /**
   * One child for each input, under the keys `key:0`, `key:1` and so on, never more than `atOnce` under way. Waits for all
   * of them, then gives their outputs in the order of the inputs, or throws what the first of them that failed did.
   */
  children<Input, Output>(
    key: string,
    agent: AgentRef<string, Input, Output>,
    inputs: readonly NoInfer<Input>[],
    options: ChildrenOptions,
  ): Promise<Output[]>
}
