import { z } from 'zod'

/** What a person has stopped for now. */
export const PauseView = z.object({
  kind: z.enum(['agent', 'tenant', 'release']),
  value: z.string(),
  since: z.iso.datetime(),
  reason: z.string().nullable(),
  by: z.string().nullable(),
})
export type PauseView = z.infer<typeof PauseView>

export const PauseList = z.object({ items: z.array(PauseView) })
export type PauseList = z.infer<typeof PauseList>
