import { z } from 'zod'
import { TaskStatus } from './task.ts'
import { keyText } from './text.ts'

/** One page's size, so that a list stays one short statement and a few hundred kilobytes. */
const LIMIT_MAX = 200

const limit = z
  .union([z.number(), z.string().regex(/^\d{1,9}$/, 'is not a whole number')])
  .transform(Number)
  .pipe(z.int().min(1).max(LIMIT_MAX))

/** Query parameters; unknown ones are refused, because a misspelt filter would silently show everything. */
export const DeadLetterFilter = z.strictObject({
  agent: keyText.optional(),
  tenant: keyText.optional(),
  cursor: keyText.optional(),
  /** 1 to 200, default 50. */
  limit: limit.optional(),
})
export type DeadLetterFilter = z.infer<typeof DeadLetterFilter>

export const TaskFilter = DeadLetterFilter.extend({ status: TaskStatus.optional() })
export type TaskFilter = z.infer<typeof TaskFilter>

/** `after` is the cursor of an earlier event; the header `Last-Event-ID`, if there is one, says it better. */
export const EventsQuery = z.strictObject({ after: keyText.optional() })
export type EventsQuery = z.infer<typeof EventsQuery>
