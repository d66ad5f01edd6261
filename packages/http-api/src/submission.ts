import { z } from 'zod'
import { Priority } from './task.ts'
import { keyText } from './text.ts'

const instant = z.iso.datetime({ offset: true, error: 'is not an ISO time with a zone, like 2027-01-31T09:00:00Z' })

/** Unknown fields are refused: a misspelt dedupe key that is silently ignored would cost a duplicate. */
export const Submission = z.strictObject({
  agent: z.string().min(1, 'is empty').max(100, 'is longer than 100 characters'),
  /**
   * Any JSON. An integer beyond ±(2^53 - 1) reaches the agent as a bigint with all its digits. From a client, values are
   * sent by the rules of `toWireValue`.
   */
  input: z.unknown(),
  /** The same key gives the same task; with another input it is refused (DEDUPE_CONFLICT). Or as `Idempotency-Key`. */
  dedupeKey: keyText.optional(),
  priority: Priority.optional(),
  tenant: keyText.optional(),
  /** Counts against the limit of this key, if one is set. */
  limitKey: keyText.optional(),
  /** Not before. */
  runAt: instant.optional(),
  deadlineAt: instant.optional(),
})
export type Submission = z.infer<typeof Submission>

export const SubmissionAnswer = z.object({
  id: z.string(),
  /** False when the dedupe key gave an existing task. */
  created: z.boolean(),
})
export type SubmissionAnswer = z.infer<typeof SubmissionAnswer>
