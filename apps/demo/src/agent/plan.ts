import { z } from 'zod'

const Call = z.discriminatedUnion('name', [
  z.object({
    id: z.string().regex(/^[A-Za-z0-9_-]{1,60}$/),
    name: z.literal('get_order'),
    arguments: z.object({ order_id: z.string().regex(/^\d{1,30}$/) }),
  }),
  z.object({
    id: z.string().regex(/^[A-Za-z0-9_-]{1,60}$/),
    name: z.literal('create_ticket'),
    arguments: z.object({ subject: z.string().min(1).max(250), description: z.string().min(1).max(5_000) }),
  }),
])
export type Call = z.output<typeof Call>

export const Plan = z.object({ summary: z.string().max(2_000), calls: z.array(Call).max(4) })

/** The same, as the model is asked for it. */
export const PLAN_JSON_SCHEMA: Record<string, unknown> = {
  type: 'object',
  properties: {
    summary: { type: 'string' },
    calls: {
      type: 'array',
      items: {
        type: 'object',
        properties: {
          id: { type: 'string' },
          name: { type: 'string', enum: ['get_order', 'create_ticket'] },
          arguments: { type: 'object' },
        },
        required: ['id', 'name', 'arguments'],
      },
    },
  },
  required: ['summary', 'calls'],
}
