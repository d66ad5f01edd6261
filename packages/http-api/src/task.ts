import { z } from 'zod'

/** Tasks as the wire shows them: camelCase, times as ISO strings, payloads by the rules of `toWireValue`. */

export const TaskStatus = z.enum(['pending', 'processing', 'waiting', 'completed', 'cancelled', 'dead_letter'])
export type TaskStatus = z.infer<typeof TaskStatus>

export const Priority = z.enum(['live', 'normal', 'batch'])
export type Priority = z.infer<typeof Priority>

export const StoredError = z.object({ code: z.string(), message: z.string() })
export type StoredError = z.infer<typeof StoredError>

const instant = z.iso.datetime()

export const TaskSummary = z.object({
  id: z.string(),
  agent: z.string(),
  version: z.int(),
  status: TaskStatus,
  priority: Priority,
  tenant: z.string().nullable(),
  attempt: z.int(),
  workerId: z.string().nullable(),
  lastReason: z.string().nullable(),
  /** What a waiting task waits for: `start`, `retry`, `sleep`, `signal`, `child`, `approval`, `person`, `pause`, `limit`, `code`. */
  waitingFor: z.string().nullable(),
  wakeAt: instant.nullable(),
  /** What holds a task that has not ended: a pause of its agent or of its tenant. */
  pausedBy: z.enum(['agent', 'tenant']).nullable(),
  errorCount: z.int(),
  crashCount: z.int(),
  handoverCount: z.int(),
  cancelRequestedAt: instant.nullable(),
  createdAt: instant,
  startedAt: instant.nullable(),
  finishedAt: instant.nullable(),
})
export type TaskSummary = z.infer<typeof TaskSummary>

export const Usage = z.object({
  model: z.string(),
  inputTokens: z.number(),
  outputTokens: z.number(),
  isEstimated: z.boolean().optional(),
})
export type Usage = z.infer<typeof Usage>

export const StepView = z.object({
  key: z.string(),
  kind: z.enum(['step', 'transaction', 'effect', 'sleep', 'signal', 'child', 'approval', 'run']),
  status: z.enum(['intent', 'waiting', 'failed', 'completed', 'unknown']),
  version: z.int(),
  tries: z.int(),
  attempt: z.int(),
  workerId: z.string().nullable(),
  /** Missing where there is none. */
  output: z.unknown().optional(),
  error: StoredError.nullable(),
  usage: Usage.nullable(),
  /** The task that a step of the kind `child` started. */
  child: z.object({ id: z.string(), agent: z.string(), status: TaskStatus }).nullable(),
  /** What an `approval` asks. */
  question: z.object({ title: z.string(), details: z.string().nullable(), expiresAt: instant.nullable() }).nullable(),
  startedAt: instant,
  finishedAt: instant.nullable(),
})
export type StepView = z.infer<typeof StepView>

export const AttemptView = z.object({
  attempt: z.int(),
  workerId: z.string(),
  startedAt: instant,
  endedAt: instant,
  outcome: z.enum(['completed', 'handed_over', 'waiting', 'orphaned', 'cancelled', 'dead_letter']),
  reason: z.string().nullable(),
  detail: z.string().nullable(),
})
export type AttemptView = z.infer<typeof AttemptView>

export const TaskDetail = TaskSummary.extend({
  input: z.unknown().optional(),
  /** Present when completed with a value. */
  output: z.unknown().optional(),
  error: StoredError.nullable(),
  deadlineAt: instant.nullable(),
  /** Whose child it is, under its step `parentKey`; without one, the dead letter that it is the follow-up of. */
  parentId: z.string().nullable(),
  parentKey: z.string().nullable(),
  steps: z.array(StepView),
  attempts: z.array(AttemptView),
})
export type TaskDetail = z.infer<typeof TaskDetail>

export const TaskPage = z.object({
  items: z.array(TaskSummary),
  /** Pass it as `cursor` for the next page; null at the end. */
  nextCursor: z.string().nullable(),
})
export type TaskPage = z.infer<typeof TaskPage>
