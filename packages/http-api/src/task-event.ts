import { z } from 'zod'
import { StoredError, TaskStatus } from './task.ts'

/**
 * What the event stream says, one named server-sent event each. A stream begins with the present status and steps, then
 * follows. `chunk` and `superseded` carry a cursor, which is the stream's last event id: a stream opened after it goes on
 * without gap or repetition. The others are states and may come again. `end` is the last word: the task has ended.
 */
const StatusEvent = z.object({
  type: z.literal('status'),
  status: TaskStatus,
  reason: z.string().nullable(),
  attempt: z.int(),
  workerId: z.string().nullable(),
})

const StepEvent = z.object({
  type: z.literal('step'),
  key: z.string(),
  status: z.enum(['running', 'intent', 'waiting', 'failed', 'completed', 'unknown']),
  tries: z.int(),
  attempt: z.int(),
  error: StoredError.nullable(),
})

const ChunkEvent = z.object({
  type: z.literal('chunk'),
  key: z.string(),
  channel: z.string(),
  text: z.string(),
  attempt: z.int(),
  cursor: z.string(),
})

/** A later try of the step began: its earlier chunks are void. */
const SupersededEvent = z.object({ type: z.literal('superseded'), key: z.string(), cursor: z.string() })

const EndEvent = z.object({
  type: z.literal('end'),
  status: z.enum(['completed', 'cancelled', 'dead_letter']),
  reason: z.string().nullable(),
})

export const TaskEvent = z.discriminatedUnion('type', [StatusEvent, StepEvent, ChunkEvent, SupersededEvent, EndEvent])
export type TaskEvent = z.infer<typeof TaskEvent>

export const EVENT_NAMES: ReadonlySet<string> = new Set<TaskEvent['type']>([
  'status',
  'step',
  'chunk',
  'superseded',
  'end',
])
