export type { ApiErrorFields } from './api-error.ts'
export { ApiError } from './api-error.ts'
export { CancelAnswer, CancelRequest } from './cancellation.ts'
export type { CallOptions, Client, ClientOptions, NewTask } from './client.ts'
export { createClient } from './client.ts'
export { PauseList, PauseView } from './pause.ts'
export { PROBLEM_CONTENT_TYPE, Problem } from './problem.ts'
export type { Route } from './routes.ts'
export { ROUTES, relativePath } from './routes.ts'
export { Submission, SubmissionAnswer } from './submission.ts'
export {
  AttemptView,
  Priority,
  StepView,
  StoredError,
  TaskDetail,
  TaskPage,
  TaskStatus,
  TaskSummary,
  Usage,
} from './task.ts'
export { TaskEvent } from './task-event.ts'
export { DeadLetterFilter, EventsQuery, TaskFilter } from './task-filter.ts'
export type { WireValue } from './wire-value.ts'
export { toWireValue } from './wire-value.ts'
export { WorkerList, WorkerView } from './worker.ts'
