import { ReasonedError, RetryError, TerminalError } from 'foothold'
import type { Contact, Crm, NewTicket, Order, Ticket } from '../ports.ts'
import { parseLosslessJson } from './lossless-json.ts'
import { callOutside, type OutsideAnswer } from './outside-call.ts'

export interface BitrixOptions {
  /** The incoming webhook's base. It contains the secret, so it stands in no message. */
  readonly url: string
  /** A gateway before the CRM honours Idempotency-Key. Bitrix24 itself keeps no keys. */
  readonly hasKeys: boolean
}

/** The smart process that holds the support requests. */
const TICKET_TYPE_ID = 1032
/** Marks what we created; together with the key it finds a ticket again. */
const ORIGINATOR = 'foothold'
const KEY_WINDOW_MS = 24 * 3_600_000
const FIND_LAG_MS = 2_000

type Row = Readonly<Record<string, unknown>>

export function bitrixCrm({ url, hasKeys }: BitrixOptions): Crm {
  const base = url.endsWith('/') ? url : `${url}/`
  const stageNames = new Map<string, string>()

  async function call(method: string, params: Row, signal: AbortSignal, idempotencyKey?: string): Promise<unknown> {
    const answer = await callOutside({
      service: 'the CRM',
      unavailable: 'crm_unavailable',
      url: `${base}${method}.json`,
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json',
        ...(idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey }),
      },
      body: JSON.stringify(params),
      signal,
    })
    return resultOf(method, answer)
  }

  /** Clients read names, not codes such as C1:EXECUTING. Where the stage is a name already, nobody is asked. */
  async function stageName(stageId: string | null, signal: AbortSignal): Promise<string> {
    if (stageId === null || !/^[A-Z0-9_:]+$/.test(stageId)) return stageId ?? ''
    const known = stageNames.get(stageId)
    if (known !== undefined) return known
    const [stage] = rows(await call('crm.status.list', { filter: { STATUS_ID: stageId } }, signal))
    const name = text(stage?.['NAME']) ?? stageId
    stageNames.set(stageId, name)
    return name
  }

  return {
    keyWindowMs: hasKeys ? KEY_WINDOW_MS : null,
    findLagMs: FIND_LAG_MS,

    async order(number, signal): Promise<Order | null> {
      const select = [
        'ID',
        'TITLE',
        'STAGE_ID',
        'OPPORTUNITY',
        'CURRENCY_ID',
        ORDER_NUMBER,
        DELIVERY_DATE,
        'CONTACT_ID',
      ]
      const found = rows(await call('crm.deal.list', { filter: { [ORDER_NUMBER]: number }, select }, signal))
      const deal = found.find((row) => text(row[ORDER_NUMBER]) === number)
      return deal === undefined
        ? null
        : { ...orderOf(number, deal), status: await stageName(text(deal['STAGE_ID']), signal) }
    },

    async contact(clientId, signal): Promise<Contact | null> {
      // Clients of other channels have ids of their own, which the CRM does not know.
      if (!/^\d{1,30}$/.test(clientId)) return null
      const contact = await orNull(call('crm.contact.get', { id: clientId }, signal))
      if (contact === null) return null
      const managerId = text((contact as Row)['ASSIGNED_BY_ID'])
      const manager = managerId === null ? undefined : rows(await call('user.get', { ID: managerId }, signal))[0]
      return {
        id: text((contact as Row)['ID']) ?? clientId,
        name: fullName(contact as Row),
        manager:
          manager === undefined ? null : { name: fullName(manager), chatId: text(manager['UF_TELEGRAM_CHAT_ID']) },
      }
    },

    async createTicket(ticket, idempotencyKey, signal): Promise<Ticket> {
      const fields = { ...fieldsOf(ticket), originatorId: ORIGINATOR, originId: idempotencyKey }
      const key = hasKeys ? idempotencyKey : undefined
      const result = await call('crm.item.add', { entityTypeId: TICKET_TYPE_ID, fields }, signal, key)
      return ticketOf((result as { readonly item?: Row } | null)?.item)
    },

    async findTicket(idempotencyKey, signal): Promise<Ticket | null> {
      const filter = { originatorId: ORIGINATOR, originId: idempotencyKey }
      const params = { entityTypeId: TICKET_TYPE_ID, filter, order: { id: 'ASC' } }
      const result = await call('crm.item.list', params, signal)
      const items = rows((result as { readonly items?: unknown } | null)?.items)
      const mine = items.filter((item) => item['originId'] === undefined || item['originId'] === idempotencyKey)
      return mine.length === 0 ? null : ticketOf(mine[0])
    },
  }
}

const ORDER_NUMBER = 'UF_CRM_ORDER_NUMBER'
const DELIVERY_DATE = 'UF_CRM_DELIVERY_DATE'

/** What an answer means for the caller: a result, a definite refusal, or an outcome that nobody knows. */
function resultOf(method: string, { status, text: body, retryAfterMs }: OutsideAnswer): unknown {
  const parsed = jsonOrNull(body)
  if (status >= 200 && status < 300 && parsed !== null && 'result' in parsed) return parsed['result']

  const code = text(parsed?.['error'])
  const said = [code, text(parsed?.['error_description'])].filter((part) => part !== null && part !== '').join(': ')
  const message = `the CRM answered ${method} with ${status}${said === '' ? '' : ` (${said.slice(0, 500)})`}`
  // The limits answer before the method runs, in the CRM's own words or with Retry-After. A gateway's 503 page does not.
  if (status === 429 || (status === 503 && (code !== null || retryAfterMs !== null))) {
    throw new RetryError(message, { reason: 'crm_unavailable', afterMs: retryAfterMs ?? undefined })
  }
  if (status === 401) {
    throw new TerminalError(`${message}: the webhook needs to be authorised again`, { reason: 'crm_rejected' })
  }
  if (status >= 400 && status < 500 && status !== 408 && status !== 425) {
    throw new CrmRefusal(message, code, status)
  }
  throw new ReasonedError(message, { reason: 'crm_unavailable' })
}

class CrmRefusal extends TerminalError {
  readonly code: string | null
  readonly status: number

  constructor(message: string, code: string | null, status: number) {
    super(message, { reason: 'crm_rejected' })
    this.code = code
    this.status = status
  }
}

/** "Not found" is an answer about a contact. Bitrix24 says it as 400 with an empty or NOT_FOUND code. */
async function orNull(answer: Promise<unknown>): Promise<unknown> {
  try {
    return await answer
  } catch (error) {
    const isNotFound =
      error instanceof CrmRefusal &&
      (error.status === 404 || (error.status === 400 && /not.?found|^$/i.test(`${error.code ?? ''} ${error.message}`)))
    if (isNotFound) return null
    throw error
  }
}

function fieldsOf({ clientId, contactId, subject, description, orderId }: NewTicket): Row {
  const lines = [description, '', ...(orderId === null ? [] : [`Заказ: ${orderId}`]), `Клиент: ${clientId}`]
  return { title: subject, ufDescription: lines.join('\n'), ...(contactId === null ? {} : { contactId }) }
}

function orderOf(number: string, deal: Row): Omit<Order, 'status'> {
  return {
    number,
    title: text(deal['TITLE']) ?? '',
    amount: text(deal['OPPORTUNITY']),
    currency: text(deal['CURRENCY_ID']),
    // Empty fields come as empty strings.
    deliveryDate: text(deal[DELIVERY_DATE])?.slice(0, 10) || null,
  }
}

function ticketOf(item: Row | undefined): Ticket {
  const ticketId = text(item?.['id'] ?? item?.['ID'])
  if (ticketId === null) throw new ReasonedError('the CRM answered without a ticket id', { reason: 'crm_unavailable' })
  return { ticketId }
}

function fullName(row: Row): string | null {
  const name = [text(row['NAME']), text(row['LAST_NAME'])].filter((part) => part !== null && part !== '').join(' ')
  return name === '' ? null : name
}

/** Ids come as numbers in some methods and as strings in others. */
function text(value: unknown): string | null {
  if (typeof value === 'string') return value
  return typeof value === 'number' ? String(value) : null
}

function rows(value: unknown): Row[] {
  return Array.isArray(value) ? value.filter((row): row is Row => typeof row === 'object' && row !== null) : []
}

function jsonOrNull(body: string): Row | null {
  try {
    const parsed = parseLosslessJson(body)
    return typeof parsed === 'object' && parsed !== null ? (parsed as Row) : null
  } catch {
    return null
  }
}
