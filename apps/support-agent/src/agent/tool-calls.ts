import type { TaskContext } from 'foothold'
import type { Contact, Crm, NewTicket, Ticket } from '../ports.ts'
import type { Call } from './functions.ts'
import type { ToolResult } from './prompts.ts'

/** One call to the CRM is short; what takes longer has an unknown outcome and is looked up. */
const CALL_TIMEOUT_MS = 10_000

/** Runs one planned call under its own key, so that a plan's calls are matched by name and never by position. */
export async function runCall(
  task: TaskContext,
  crm: Crm,
  client: { readonly id: string; readonly contact: Contact | null },
  call: Call,
): Promise<ToolResult> {
  const key = `tool_call:${call.id}`
  switch (call.name) {
    case 'get_order': {
      const number = call.arguments.order_id
      const order = await task.step(key, ({ signal }) => crm.order(number, signal), { timeoutMs: CALL_TIMEOUT_MS })
      const result =
        order === null ? { found: false, order_id: number } : { found: true, order_id: number, ...wire(order) }
      return { call, outcome: 'done', result }
    }
    case 'create_ticket': {
      const ticket: NewTicket = {
        clientId: client.id,
        contactId: client.contact?.id ?? null,
        subject: call.arguments.subject,
        description: call.arguments.description,
        orderId: call.arguments.order_id ?? null,
      }
      const { ticketId } = await createTicket(task, key, crm, ticket)
      return { call, outcome: 'done', result: { ticket_id: ticketId } }
    }
  }
}

/** With keys the CRM itself drops the repetition; without, it is asked by our mark whether the ticket is there. */
function createTicket(task: TaskContext, key: string, crm: Crm, request: NewTicket): Promise<Ticket> {
  const common = {
    request,
    timeoutMs: CALL_TIMEOUT_MS,
    send: (ticket: NewTicket, context: { readonly idempotencyKey: string; readonly signal: AbortSignal }) =>
      crm.createTicket(ticket, context.idempotencyKey, context.signal),
    find: (_ticket: NewTicket, context: { readonly idempotencyKey: string; readonly signal: AbortSignal }) =>
      crm.findTicket(context.idempotencyKey, context.signal),
  }
  return crm.keyWindowMs === null
    ? task.effect<NewTicket, Ticket>(key, { ...common, findLagMs: crm.findLagMs })
    : task.effect<NewTicket, Ticket>(key, { ...common, keyWindowMs: crm.keyWindowMs })
}

function wire(order: NonNullable<Awaited<ReturnType<Crm['order']>>>): Record<string, unknown> {
  const { title, status, amount, currency, deliveryDate } = order
  return { title, status, amount, currency, delivery_date: deliveryDate }
}
