import { z } from 'zod'
import { sentence } from './text.ts'

export const CancelRequest = z.strictObject({ reason: sentence.optional() })
export type CancelRequest = z.infer<typeof CancelRequest>

/** `requested`: it was processing; its worker stops it within about a second and the task ends as cancelled. */
export const CancelAnswer = z.object({
  outcome: z.enum(['cancelled', 'requested', 'already_ended']),
  status: z.enum(['cancelled', 'processing', 'completed']),
})
export type CancelAnswer = z.infer<typeof CancelAnswer>
