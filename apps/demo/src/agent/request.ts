import { z } from 'zod'

export type Language = 'ru' | 'en'

/** What a client asks; the id is the load generator's own, and every ledger is compared by it. */
export const SupportRequest = z.object({
  id: z.string().min(1).max(60),
  language: z.enum(['ru', 'en']),
  clientId: z.string().max(30),
  clientName: z.string().max(100),
  text: z.string().min(1).max(2_000),
})
export type SupportRequest = z.output<typeof SupportRequest>
