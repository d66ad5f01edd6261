import type { Agent, AgentRef, Signal } from './agent.ts'
import type { AlertChannel } from './alerts.ts'
import type { ApprovalAnswer, OpenApproval } from './approvals.ts'
import type { Explanation } from './explain/explanation.ts'
import type { Limit, LimitOptions, LimitTarget } from './limits.ts'
import type { Pause, PauseAnswer, PauseTarget } from './pauses.ts'
import type { PruneReport, Retention } from './retention.ts'
import type { Schedule, ScheduleOptions } from './schedules.ts'
import type { Queryable, TaskId } from './task-context.ts'
import type { Page, Priority, TaskDetail, TaskEvent, TaskFilter, TaskState, TaskSummary, WorkerView } from './views.ts'

/** The public surface of the engine as types; `connect()` gives one. */

export interface SubmitOptions {
  /** The same key gives the same task, for 30 days; with another input it is refused (DEDUPE_CONFLICT). */
  readonly dedupeKey?: string | undefined
  /** How long the key stands: at least as long as its source may deliver the same again. Default 30. */
  readonly dedupeDays?: number | undefined
  /** Default `normal`. */
  readonly priority?: Priority | undefined
  readonly tenant?: string | undefined
  /** What it uses that is scarce, or whom it must not disturb: counts against the limit of this key, if one is set. */
  readonly limitKey?: string | undefined
  /** Not before; default now. */
  readonly runAt?: Date | undefined
  readonly deadlineAt?: Date | undefined
  /** Enqueues inside the caller's own transaction: the task exists if and only if it commits. */
  readonly transaction?: Queryable | undefined
}

export interface TaskHandle<Output> {
  readonly id: TaskId
  /** False when the dedupe key gave an existing task. */
  readonly created: boolean
  /** TASK_NOT_FOUND when there is none. */
  state(): Promise<TaskState<Output>>
  /** Waits for the end; throws TASK_DEAD_LETTER, TASK_CANCELLED, RESULT_TIMEOUT, or the signal's reason. */
  result(options?: {
    readonly timeoutMs?: number | undefined
    readonly signal?: AbortSignal | undefined
  }): Promise<Output>
  watch(options?: WatchOptions): AsyncIterable<TaskEvent>
  cancel(options?: { readonly reason?: string | undefined }): Promise<CancelAnswer>
}

export interface WatchOptions {
  /** A `cursor` of an earlier event: chunks after it only. */
  readonly after?: string | undefined
  readonly signal?: AbortSignal | undefined
}

/** `requested`: it was processing; its worker stops it within about a second and the task ends as cancelled. */
export interface CancelAnswer {
  readonly outcome: 'cancelled' | 'requested' | 'already_ended'
  readonly status: 'cancelled' | 'processing' | 'completed'
}

/** A person's word on an effect whose outcome nobody could know. */
export type Decision =
  | { readonly outcome: 'done'; readonly result: unknown; readonly by: string }
  | { readonly outcome: 'not_done'; readonly by: string }

export interface WorkerOptions {
  readonly agents: readonly Agent[]
  /** Tasks at once. Default 20. */
  readonly concurrency?: number | undefined
  /** From the signal to the hand-over of what still runs. Default 6,500, for a stop after 8 s. */
  readonly graceMs?: number | undefined
  /** The deploy label of this code; `detectRelease` finds one. Default `unlabelled`. */
  readonly release?: string | undefined
  /** Default 5,000. */
  readonly heartbeatMs?: number | undefined
  /** Default four heartbeats (20,000). */
  readonly leaseMs?: number | undefined
  /** Default true: a killed worker is noticed in well under a second. False: by its lease alone. */
  readonly lifeline?: boolean | undefined
  /** A port of this worker's own with /healthz, /readyz and /metrics, for a process without a server. Default none. */
  readonly operations?: OperationsOptions | undefined
}

export interface OperationsOptions {
  /** 0: any free one, told in the log. */
  readonly port: number
  /** Default 127.0.0.1. Anything but loopback needs a token. */
  readonly host?: string | undefined
  /** /metrics must bear it; the probes are open to everybody. */
  readonly token?: string | undefined
}

/** A registry of prom-client 15, as far as it is asked for. */
export interface MetricsRegistry {
  registerMetric(metric: never): void
}

/** What an HTTP server answers to Prometheus. */
export interface Exposition {
  readonly contentType: string
  readonly text: string
}

export interface DrainReport {
  readonly handedOver: readonly TaskId[]
  /** Could not be handed over: the sweep returns them when the lease ends. */
  readonly leftBehind: readonly TaskId[]
}

export interface Worker {
  /** hostname:pid:startMs:random. */
  readonly id: string
  readonly status: 'new' | 'active' | 'draining' | 'stopped'
  readonly running: number
  /** Until SIGTERM or SIGINT: drains, hands over, resolves. */
  run(): Promise<DrainReport>
  start(): Promise<void>
  /** Safe to call twice and in any state. Touches no process signal. */
  drain(options?: { readonly graceMs?: number | undefined }): Promise<DrainReport>
}

export interface Foothold {
  submit<Input, Output>(
    agent: AgentRef<string, Input, Output>,
    input: NoInfer<Input>,
    options?: SubmitOptions,
  ): Promise<TaskHandle<Output>>
  /** By name: for a producer without the agent's code. The input is checked by the worker that runs it. */
  submit(agent: string, input: unknown, options?: SubmitOptions): Promise<TaskHandle<unknown>>
  handle(id: TaskId): TaskHandle<unknown>
  handle<Output>(id: TaskId, agent: AgentRef<string, never, Output>): TaskHandle<Output>
  sendSignal<Payload>(
    id: TaskId,
    signal: Signal<Payload>,
    payload: NoInfer<Payload>,
    options?: { readonly dedupeKey?: string | undefined },
  ): Promise<void>
  cancel(id: TaskId, options?: { readonly reason?: string | undefined }): Promise<CancelAnswer>
  /** A dead letter goes on from its failed step, with fresh budgets. */
  resume(id: TaskId): Promise<void>
  /** Begins again from a step: its result and those of all later steps are forgotten, effects included. */
  restart(id: TaskId, options: { readonly from: string }): Promise<RestartReport>
  decide(id: TaskId, key: string, decision: Decision): Promise<void>
  /** Answers `task.approval`. The first answer stands: a different one is refused (TASK_STATE_CONFLICT) and told what stands. */
  approve(id: TaskId, key: string, answer: ApprovalAnswer): Promise<void>
  /** Questions that nobody has answered, of the oldest tasks first. `limit`: 1 to 1,000, default 100. */
  approvals(options?: { readonly limit?: number | undefined }): Promise<readonly OpenApproval[]>
  /**
   * Nothing of it is claimed any more, by any worker, and what runs is handed over after its current step; until
   * `unpause`, whatever restarts. Submitting goes on. Paused already, the first pause stands.
   */
  pause(
    target: PauseTarget,
    options?: { readonly reason?: string | undefined; readonly by?: string | undefined },
  ): Promise<PauseAnswer>
  unpause(target: PauseTarget): Promise<{ readonly wasPaused: boolean }>
  pauses(): Promise<readonly Pause[]>
  /**
   * Off: no worker is declared lost by its lifeline any more, in any process, within a second and until it is switched on;
   * a killed worker is noticed after its lease. For the day when a network cuts sessions of workers that live.
   */
  switchLifeline(
    to: 'on' | 'off',
    options?: { readonly reason?: string | undefined; readonly by?: string | undefined },
  ): Promise<LifelineSwitch>
  lifelineSwitch(): Promise<LifelineSwitch>

  /**
   * Submits a task at every tick of a cron, exactly one whatever dies. Safe to call at every start: the same again
   * changes nothing, and what a person paused stays paused.
   */
  schedule<Input>(
    name: string,
    options: Omit<ScheduleOptions<NoInfer<Input>>, 'agent'> & { readonly agent: AgentRef<string, Input, unknown> },
  ): Promise<Schedule>
  /** By name: the input is checked by the worker that runs it. */
  schedule(name: string, options: ScheduleOptions & { readonly agent: string }): Promise<Schedule>
  schedules(): Promise<readonly Schedule[]>
  /** No tick while it lasts, and none of that time is owed afterwards. SCHEDULE_NOT_FOUND when there is none. */
  pauseSchedule(name: string): Promise<void>
  unpauseSchedule(name: string): Promise<void>
  /** Its tasks go on. */
  removeSchedule(name: string): Promise<{ readonly wasThere: boolean }>
  /**
   * From the next claim of every worker on, no more of it runs at once, or starts per period, than this; what has no room
   * waits aside and holds nobody up. Replaces the limit that was there.
   */
  setLimit(target: LimitTarget, options: LimitOptions): Promise<void>
  removeLimit(target: LimitTarget): Promise<{ readonly wasLimited: boolean }>
  limits(): Promise<readonly Limit[]>

  tasks(filter?: TaskFilter): Promise<Page<TaskSummary>>
  /** Null when there is none. */
  task(id: TaskId): Promise<TaskDetail | null>
  /** Where a task stands, why, and what runs again when it goes on. Null when there is none. */
  why(id: TaskId): Promise<Explanation | null>
  workers(): Promise<readonly WorkerView[]>
  /** Names known to this database: every worker registers its agents. */
  agents(): Promise<readonly string[]>
  /**
   * Removes at once what the workers would remove by themselves in time: what has ended and is kept no longer, by the
   * retention of this connection or the one given. With `isDryRun` it counts.
   */
  prune(options?: {
    readonly isDryRun?: boolean | undefined
    readonly retention?: Retention | undefined
  }): Promise<PruneReport>
  /** Resolves when the database answers and takes writes; DATABASE_UNAVAILABLE otherwise. */
  ready(options?: { readonly timeoutMs?: number | undefined }): Promise<void>

  /** Merges what this process measures into a registry of prom-client. Safe to call twice with the same one. */
  metrics(registry: MetricsRegistry): void
  /** The same in Prometheus' text format, for a process without a registry. */
  exposition(): Promise<Exposition>

  worker(options: WorkerOptions): Worker
  close(): Promise<void>
}

export type LifelineSwitch =
  | { readonly isOn: true }
  | { readonly isOn: false; readonly since: Date; readonly reason: string | null; readonly by: string | null }

export interface RestartReport {
  /** Steps that will run again. */
  readonly forgotten: readonly string[]
  /** Those among them that had changed something outside. */
  readonly repeatedEffects: readonly string[]
}

export interface ConnectOptions {
  /** A session-level address where `url` goes through a pooler: for LISTEN and the heartbeat. */
  readonly directUrl?: string | undefined
  /** Default true: apply missing migrations. */
  readonly migrate?: boolean | undefined
  /** Connections for the engine's own statements. Default 10. */
  readonly poolSize?: number | undefined
  /** Where the workers of this connection tell on-call of dead letters. Default: nowhere. */
  readonly alerts?: readonly AlertChannel[] | undefined
  /** How long the workers of this connection keep what has ended. Default: tasks 30 days, dead letters for ever. */
  readonly retention?: Retention | undefined
  /** Default: JSON lines on stderr. `silent` for none. */
  readonly logger?: Logger | 'silent' | undefined
  /** Stops waiting for a database that is away: `connect` throws the signal's reason at once. Later it has no meaning. */
  readonly signal?: AbortSignal | undefined
}

/** Four methods, pino's shape. */
export interface Logger {
  debug(fields: object, message: string): void
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
}
