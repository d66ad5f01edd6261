export { connect } from './foothold.ts'
export { detectRelease } from './lifecycle/detect-release.ts'
export type { Agent, AgentOptions, AgentRef, DeadLetter, Signal } from './protocol/agent.ts'
export { agent, agentRef, signal } from './protocol/agent.ts'
export type { FailedRelease, ReleaseShare } from './protocol/alert-release.ts'
export type {
  AlertChannel,
  AlertContext,
  AlertCounts,
  AlertEffect,
  AlertError,
  AlertExample,
  AlertFollowUps,
  AlertMessage,
  AlertRepeat,
  MessageRef,
} from './protocol/alerts.ts'
export type { Approval, ApprovalAnswer, ApprovalQuestion, OpenApproval } from './protocol/approvals.ts'
export type { ErrorCode, ErrorDetails, FailureOptions } from './protocol/errors.ts'
export {
  ERROR_CODES,
  FootholdError,
  isFootholdError,
  ReasonedError,
  RetryError,
  TerminalError,
} from './protocol/errors.ts'
export type {
  Explanation,
  GoesOn,
  LeftInDoubt,
  Outside,
  ReleaseVerdict,
  Repeat,
} from './protocol/explain/explanation.ts'
export { explanationFields } from './protocol/explain/explanation-fields.ts'
export type {
  CancelAnswer,
  ConnectOptions,
  Decision,
  DrainReport,
  Exposition,
  Foothold,
  LifelineSwitch,
  Logger,
  MetricsRegistry,
  OperationsOptions,
  RestartReport,
  SubmitOptions,
  TaskHandle,
  WatchOptions,
  Worker,
  WorkerOptions,
} from './protocol/foothold.ts'
export type { Limit, LimitKind, LimitOptions, LimitTarget, Rate } from './protocol/limits.ts'
export { LIMIT_KINDS } from './protocol/limits.ts'
export type { Pause, PauseAnswer, PauseKind, PauseTarget } from './protocol/pauses.ts'
export { PAUSE_KINDS } from './protocol/pauses.ts'
export type { Reason } from './protocol/reasons.ts'
export { REASONS } from './protocol/reasons.ts'
export type { PruneReport, Retention } from './protocol/retention.ts'
export type { CatchUp, Overlap, Schedule, ScheduleOptions } from './protocol/schedules.ts'
export type { InputOf, OutputOf, StandardSchema } from './protocol/standard-schema.ts'
export type { Stored } from './protocol/stored.ts'
export type {
  ChildOptions,
  ChildrenOptions,
  Effect,
  EffectContext,
  FindableEffect,
  KeyedEffect,
  OnceResult,
  Queryable,
  RetryPolicy,
  StepContext,
  StepOptions,
  StoppingEffect,
  TaskContext,
  TaskId,
  UncheckedEffect,
  Usage,
} from './protocol/task-context.ts'
export type {
  AttemptView,
  ChildView,
  Page,
  Priority,
  QuestionView,
  StepView,
  StoredError,
  TaskDetail,
  TaskEvent,
  TaskFilter,
  TaskState,
  TaskStatus,
  TaskSummary,
  WorkerView,
} from './protocol/views.ts'
export { PRIORITIES, TASK_STATUSES } from './protocol/views.ts'
