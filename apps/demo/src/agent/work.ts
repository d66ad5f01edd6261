import { setTimeout as pause } from 'node:timers/promises'
import { generate, type LlmModel } from '@foothold/models'
import type { TaskContext } from 'foothold'
import { type Call, PLAN_JSON_SCHEMA, Plan } from './plan.ts'
import { type CallResult, planPrompt, replyPrompt } from './prompts.ts'
import type { SupportRequest } from './request.ts'
import type { Services } from './services.ts'

export interface SupportAnswer {
  readonly ticketId: string | null
  readonly reply: string
  readonly problems: readonly string[]
}

/** How long the receivers of the demo remember a key: as long as they live. */
const KEY_WINDOW_MS = 3_600_000
/** Checking takes microseconds; the eye needs longer to see the box light up. */
const SEEN_MS = 300

/** The same five steps with the guard and without: only what `task` does with them differs. */
export async function answerRequest(
  task: TaskContext,
  request: SupportRequest,
  { model, services }: { readonly model: LlmModel; readonly services: Services },
): Promise<SupportAnswer> {
  const client = await task.step('retrieve', ({ signal }) => services.client(request.clientId, signal))
  const known = { ...request, clientName: client.name === '' ? request.clientName : client.name }

  const plan = await generate(task, 'plan', {
    model,
    ...planPrompt(known),
    schema: Plan,
    jsonSchema: PLAN_JSON_SCHEMA,
    temperature: 0.1,
  })

  const results = await Promise.all(plan.calls.map((call) => runCall(task, services, request, call)))

  const draft = await generate(task, 'generate', {
    model,
    ...replyPrompt(known, results),
    stream: true,
    temperature: 0.3,
  })

  const problems = await task.step('verify', async () => {
    await pause(SEEN_MS)
    return inventedNumbers(draft, request, results)
  })

  await task.effect('reply', {
    request: { requestId: request.id, clientId: request.clientId, text: draft },
    keyWindowMs: KEY_WINDOW_MS,
    send: (body, { idempotencyKey, signal }) => services.reply(body, idempotencyKey, signal),
  })
  return { ticketId: ticketOf(results), reply: draft, problems }
}

async function runCall(task: TaskContext, crm: Services, request: SupportRequest, call: Call): Promise<CallResult> {
  const key = `tool_call:${call.id}`
  switch (call.name) {
    case 'get_order': {
      const number = call.arguments.order_id
      const order = await task.step(key, ({ signal }) => crm.order(number, signal))
      return { call, outcome: 'done', result: { found: order !== null, order_id: number, ...order } }
    }
    case 'create_ticket': {
      const { ticketId } = await task.effect(key, {
        request: { requestId: request.id, contactId: request.clientId, ...call.arguments },
        keyWindowMs: KEY_WINDOW_MS,
        send: (ticket, { idempotencyKey, signal }) => crm.createTicket(ticket, idempotencyKey, signal),
      })
      return { call, outcome: 'done', result: { ticket_id: ticketId } }
    }
  }
}

/** Every longer number of the answer must stand in what it was made from. */
function inventedNumbers(draft: string, request: SupportRequest, results: readonly CallResult[]): string[] {
  const sources = `${request.text} ${JSON.stringify(results)}`.replace(/[^\d]+/g, ' ')
  const said = draft.replace(/(?<=\d)[\s\u00A0\u202F,](?=\d{3})/g, '').match(/\d{4,}/g) ?? []
  return said.filter((number) => !sources.includes(number))
}

function ticketOf(results: readonly CallResult[]): string | null {
  const ticket = results.find(({ call }) => call.name === 'create_ticket')
  return ticket === undefined ? null : (ticket.result as { readonly ticket_id: string }).ticket_id
}
