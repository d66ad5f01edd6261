import { scalarText } from '../wire/scalar.ts'
import type { Exchange } from '../wire/server.ts'
import { CrmError } from './errors.ts'
import { asRecord, type Page, query, type Row } from './query.ts'
import { type Item, TICKET_ENTITY_TYPE } from './records.ts'
import { contactRow, dealRow, ITEM_FIELDS, itemRow, userRow } from './rows.ts'
import { stageList } from './stages.ts'
import type { CrmState } from './state.ts'

export interface Call {
  readonly state: CrmState
  readonly parameters: Row
  readonly exchange: Pick<Exchange, 'commit'>
  /** Items younger than this are not found yet. */
  readonly searchLagMs: number
}

/** What stands beside `time` in the answer. */
export type Outcome = { readonly result: unknown; readonly total?: number; readonly next?: number }

export const METHODS: Readonly<Record<string, (call: Call) => Outcome>> = {
  'crm.deal.list': ({ state, parameters }) => page(query(state.orders().map(dealRow), parameters)),
  'crm.deal.get': ({ state, parameters }) => ({
    result: one(state.orders().map(dealRow), 'ID', parameters.id ?? parameters.ID),
  }),
  'crm.contact.list': ({ state, parameters }) => page(query(contacts(state), parameters)),
  'crm.contact.get': ({ state, parameters }) => ({
    result: one(contacts(state), 'ID', parameters.id ?? parameters.ID),
  }),
  'crm.status.list': ({ state, parameters }) => page(query(stages(state), parameters)),
  'user.get': ({ state, parameters }) => page(query([...state.managers.values()].map(userRow), userQuery(parameters))),
  'crm.item.add': addItem,
  'crm.item.list': ({ state, parameters, searchLagMs }) => {
    const visible = state.items(entityType(parameters)).filter((item) => isVisible(item, searchLagMs))
    const found = query(visible.map(itemRow), parameters, ITEM_FIELDS)
    return { ...page(found), result: { items: found.rows } }
  },
  'crm.item.get': ({ state, parameters }) => ({
    result: { item: one(state.items(entityType(parameters)).map(itemRow), 'id', parameters.id) },
  }),
}

function addItem({ state, parameters, exchange }: Call): Outcome {
  const fields = asRecord(parameters.fields, 'fields')
  const { title, contactId } = fields
  if (typeof title !== 'string' || title.trim() === '') {
    throw new CrmError(400, 'CRM_FIELD_ERROR_REQUIRED', 'Поле «Название» обязательно для заполнения')
  }
  if (contactId !== undefined && contactId !== null && !state.contacts.has(scalarText(contactId))) {
    throw new CrmError(400, 'CRM_FIELD_ERROR_VALUE_NOT_VALID', `Контакт ${scalarText(contactId)} не найден`)
  }
  const item = state.addItem(entityType(parameters), fields)
  const key = scalarText(fields.originId) || null
  exchange.commit('crm.item', key, { id: item.id, entityTypeId: item.entityTypeId, ...fields })
  return { result: { item: itemRow(item) } }
}

function contacts(state: CrmState): Row[] {
  return [...state.contacts.values()].map(contactRow)
}

function stages(state: CrmState): Row[] {
  return stageList(state.orders().map(({ stage }) => stage)).map(({ code, name }, index) => ({
    ID: String(index + 1),
    ENTITY_ID: 'DEAL_STAGE',
    STATUS_ID: code,
    NAME: name,
    SORT: String((index + 1) * 10),
  }))
}

function one(rows: readonly Row[], field: string, id: unknown): Row {
  const found = rows.find((row) => scalarText(row[field]) === scalarText(id))
  if (found === undefined) throw new CrmError(400, '', 'Not found')
  return found
}

function page({ rows, total, next }: Page): Outcome {
  return next === undefined ? { result: rows, total } : { result: rows, total, next }
}

// user.get takes its filter either under `filter` or as parameters of its own.
function userQuery(parameters: Row): Row {
  const { ID, id, ...rest } = parameters
  const wanted = ID ?? id
  return wanted === undefined ? rest : { ...rest, filter: { ID: wanted } }
}

function entityType(parameters: Row): string {
  const id = scalarText(parameters.entityTypeId)
  if (id !== TICKET_ENTITY_TYPE) throw new CrmError(400, 'NOT_FOUND', 'Смарт-процесс не найден')
  return id
}

function isVisible(item: Item, searchLagMs: number): boolean {
  return Date.now() - Date.parse(item.createdAt) >= searchLagMs
}
