import { z } from 'zod'
import { Call } from './functions.ts'

/** A request that names more orders than this is for a person; it also bounds what one prompt can make us do. */
const CALLS_MAX = 12

const PlanShape = z.object({
  language: z.string().regex(/^[A-Za-z]{2,3}([-_][A-Za-z0-9]{1,8})*$/, 'is not a language tag such as ru or en'),
  summary: z.string().max(2_000),
  calls: z.array(Call).max(CALLS_MAX, `more than ${CALLS_MAX} calls`),
})
export type Plan = z.output<typeof PlanShape>

/** The shape as the model is asked for it. */
export const PLAN_JSON_SCHEMA: Record<string, unknown> = {
  type: 'object',
  properties: {
    language: { type: 'string', description: 'Язык клиента: ru, en или другой код BCP-47' },
    summary: { type: 'string', description: 'Чего хочет клиент, одним предложением' },
    calls: {
      type: 'array',
      items: {
        type: 'object',
        properties: {
          id: { type: 'string', description: 'Имя вызова, например order-5501 или ticket' },
          name: { type: 'string', enum: ['get_order', 'create_ticket'] },
          arguments: { type: 'object' },
        },
        required: ['id', 'name', 'arguments'],
      },
    },
  },
  required: ['language', 'summary', 'calls'],
}

/**
 * The plan is checked against the request, not only for its shape: text in a letter or a file may try to make the model
 * call what the client never asked for. `named` is everything the client wrote or sent, and the earlier exchanges.
 */
export function planSchema(named: string): z.ZodType<Plan> {
  const numbers = new Set(named.match(/\d+/g) ?? [])
  return PlanShape.transform(withoutRepeats).superRefine((plan, context) => {
    for (const problem of problemsOf(plan, numbers)) context.addIssue({ code: 'custom', ...problem })
  }) as unknown as z.ZodType<Plan>
}

/** Models repeat a call under another id now and then: the first one stands. */
function withoutRepeats(plan: Plan): Plan {
  const seen = new Set<string>()
  const calls = plan.calls.filter((call) => {
    const identity = JSON.stringify([call.name, call.arguments])
    return seen.has(identity) ? false : seen.add(identity)
  })
  return { ...plan, calls }
}

interface Problem {
  readonly path: (string | number)[]
  readonly message: string
}

function problemsOf(plan: Plan, numbers: ReadonlySet<string>): Problem[] {
  const problems: Problem[] = []
  const ids = new Set<string>()
  let tickets = 0
  plan.calls.forEach((call, index) => {
    if (ids.has(call.id)) problems.push({ path: ['calls', index, 'id'], message: `${call.id} is used twice` })
    ids.add(call.id)
    if (call.name === 'create_ticket') tickets += 1
    const orderId = call.arguments.order_id
    if (orderId !== undefined && !numbers.has(orderId)) {
      problems.push({
        path: ['calls', index, 'arguments', 'order_id'],
        message: `the client named no order ${orderId}: use only numbers that stand in the request`,
      })
    }
  })
  if (tickets > 1) problems.push({ path: ['calls'], message: 'more than one create_ticket: put it all into one' })
  return problems
}
