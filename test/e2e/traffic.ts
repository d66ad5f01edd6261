import type { ReceivedEntry } from '@foothold/simulators'
import type { TaskId } from 'foothold'
import type { World } from './world.ts'

/** What the outside world saw of one task. */
export interface Traffic {
  readonly embeddings: number
  readonly plans: number
  readonly orderReads: number
  readonly ticketRequests: number
  readonly ticketLookups: number
  readonly drafts: number
  readonly messages: number
  /** What was truly made: records in the CRM, replies to the client. */
  readonly tickets: number
  readonly replies: number
}

/** One request, one answer, nothing repeated. */
export const ONCE: Traffic = {
  embeddings: 1,
  plans: 1,
  orderReads: 1,
  ticketRequests: 1,
  ticketLookups: 0,
  drafts: 1,
  messages: 1,
  tickets: 1,
  replies: 1,
}

export interface Told {
  readonly taskId: TaskId
  /** No other task of the world may ask about it. */
  readonly orderId: string
}

export async function trafficOf({ simulators, query }: World, { taskId, orderId }: Told): Promise<Traffic> {
  const [gigachat, crm, telegram] = await Promise.all(
    [simulators.gigachat, simulators.crm, simulators.telegram].map((one) => one.control.ledger()),
  )
  const chats = requests(gigachat?.received, 'chat/completions').filter(({ sessionId }) => sessionId === taskId)
  const [{ key } = { key: null }] = await query<{ key: string }>(
    `select idempotency_key as key from foothold.agent_steps where task_id = $1 and key = 'tool_call:ticket'`,
    [taskId],
  )
  const [{ n: replies } = { n: 0 }] = await query<{ n: number }>(
    'select count(*)::int as n from support.replies where task_id = $1',
    [taskId],
  )
  const tag = `#t_${taskId.replaceAll('-', '').slice(-8)}`
  return {
    embeddings: containing(requests(gigachat?.received, '/embeddings'), `заказ ${orderId}`),
    plans: containing(chats, '<functions>'),
    orderReads: containing(requests(crm?.received, 'crm.deal.list'), orderId),
    ticketRequests: containing(requests(crm?.received, 'crm.item.add'), `Заказ: ${orderId}`),
    ticketLookups: containing(requests(crm?.received, 'crm.item.list'), String(key)),
    drafts: containing(chats, '<tool_results>'),
    messages: containing(requests(telegram?.received, 'sendMessage'), tag),
    tickets: (crm?.committed ?? []).filter((entry) => entry.kind === 'crm.item' && entry.key === key).length,
    replies,
  }
}

/** How often the model was asked for the answer itself. */
export async function draftsByTask({ simulators }: World): Promise<Map<string, number>> {
  const { received } = await simulators.gigachat.control.ledger()
  const drafts = new Map<string, number>()
  for (const { sessionId, body } of requests(received, 'chat/completions')) {
    if (typeof sessionId !== 'string' || containing([{ body }], '<tool_results>') === 0) continue
    drafts.set(sessionId, (drafts.get(sessionId) ?? 0) + 1)
  }
  return drafts
}

function requests(received: readonly ReceivedEntry[] = [], path: string): ReceivedEntry[] {
  return received.filter((entry) => entry.path.includes(path))
}

function containing(entries: readonly Pick<ReceivedEntry, 'body'>[], text: string): number {
  return entries.filter(({ body }) => JSON.stringify(body).includes(text)).length
}

export function figures(traffic: Traffic): string {
  return Object.entries(traffic)
    .map(([what, count]) => `${what} ${count}`)
    .join(', ')
}
