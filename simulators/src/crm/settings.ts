import { z } from 'zod'

/** What can be set when the CRM starts, and changed while it runs. */
export interface CrmSettings {
  /** `keys`: a gateway before the CRM honours Idempotency-Key on crm.item.add. `none`: the CRM as it is. */
  readonly mode: 'keys' | 'none'
  /** For how long a created item stays invisible to crm.item.list. */
  readonly searchLagMs: number
  /** The real one is 50 at once and 2 a second; null is no limit. */
  readonly queryLimit: { readonly burst: number; readonly perSecond: number } | null
}

export const settingsChange = z.strictObject({
  mode: z.enum(['keys', 'none']).optional(),
  searchLagMs: z.number().int().min(0).optional(),
  queryLimit: z
    .strictObject({ burst: z.number().int().min(1), perSecond: z.number().positive() })
    .nullable()
    .optional(),
  /** The id of the next created item, digits; past 2^53 it travels as bare digits. */
  nextItemId: z
    .string()
    .regex(/^\d{1,19}$/, 'must be digits')
    .optional(),
})
