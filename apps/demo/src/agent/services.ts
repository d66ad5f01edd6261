import { type Reason, ReasonedError, TerminalError } from 'foothold'

/** Addresses of the outside world, as the agent is told them. */
export interface ServiceAddresses {
  readonly crmUrl: string
  readonly replyUrl: string
}

export interface Services {
  order(number: string, signal: AbortSignal): Promise<Order | null>
  client(id: string, signal: AbortSignal): Promise<{ readonly name: string }>
  createTicket(ticket: Ticket, key: string, signal: AbortSignal): Promise<{ readonly ticketId: string }>
  reply(body: Reply, key: string, signal: AbortSignal): Promise<{ readonly status: number }>
}

export interface Order {
  readonly title: string
  readonly status: string
  readonly amount: string
  readonly currency: string
  readonly delivery_date: string
}

export interface Ticket {
  readonly requestId: string
  readonly contactId: string
  readonly subject: string
  readonly description: string
}

export interface Reply {
  readonly requestId: string
  readonly clientId: string
  readonly text: string
}

const TICKET_TYPE_ID = 1032

/** An empty key is none: that is how the naive worker calls. */
export function services({ crmUrl, replyUrl }: ServiceAddresses): Services {
  const crm = async (method: string, params: object, signal: AbortSignal, key = ''): Promise<Row> =>
    asRow((await post(`${crmUrl}${method}.json`, params, { key, signal, unavailable: 'crm_unavailable' }))['result'])
  /** Clients read names, not codes. */
  const stageName = async (stage: string, signal: AbortSignal): Promise<string> => {
    const found = await crm('crm.status.list', { filter: { STATUS_ID: stage } }, signal)
    const [row] = Object.values(found) as Row[]
    return text(row?.['NAME']) || stage
  }
  return {
    async order(number, signal) {
      const rows = await crm('crm.deal.list', { filter: { UF_CRM_ORDER_NUMBER: number } }, signal)
      const [deal] = Object.values(rows) as Row[]
      if (deal === undefined) return null
      return {
        title: text(deal['TITLE']),
        status: await stageName(text(deal['STAGE_ID']), signal),
        amount: text(deal['OPPORTUNITY']),
        currency: text(deal['CURRENCY_ID']),
        delivery_date: text(deal['UF_CRM_DELIVERY_DATE']).slice(0, 10),
      }
    },
    async client(id, signal) {
      const contact = await crm('crm.contact.get', { id }, signal)
      return { name: `${text(contact['NAME'])} ${text(contact['LAST_NAME'])}`.trim() }
    },
    async createTicket({ requestId, contactId, subject, description }, key, signal) {
      const fields = {
        title: subject,
        ufDescription: description,
        contactId,
        originatorId: 'demo',
        originId: requestId,
      }
      const { item } = await crm('crm.item.add', { entityTypeId: TICKET_TYPE_ID, fields }, signal, key)
      return { ticketId: text(asRow(item)['id']) }
    },
    async reply(body, key, signal) {
      await post(replyUrl, body, { key, signal, unavailable: 'reply_unavailable' })
      return { status: 200 }
    },
  }
}

type Row = Readonly<Record<string, unknown>>

interface Sending {
  readonly key: string
  readonly signal: AbortSignal
  readonly unavailable: Reason
}

async function post(url: string, body: object, { key, signal, unavailable }: Sending): Promise<Row> {
  const headers = { 'content-type': 'application/json', ...(key === '' ? {} : { 'idempotency-key': key }) }
  let answer: { readonly status: number; readonly text: string }
  try {
    const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body), signal })
    answer = { status: response.status, text: await response.text() }
  } catch (error) {
    signal.throwIfAborted()
    throw new ReasonedError('a service of the demo did not answer', { reason: unavailable, cause: error })
  }
  if (answer.status < 300) return asRow(JSON.parse(answer.text))
  const problem = `a service of the demo answered ${answer.status}: ${answer.text.slice(0, 200)}`
  if (answer.status < 500 && answer.status !== 429) throw new TerminalError(problem, { reason: 'crm_rejected' })
  throw new ReasonedError(problem, { reason: unavailable })
}

function asRow(value: unknown): Row {
  return typeof value === 'object' && value !== null ? (value as Row) : {}
}

function text(value: unknown): string {
  return typeof value === 'string' || typeof value === 'number' ? String(value) : ''
}
