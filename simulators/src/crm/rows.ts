// How the CRM shows its records: deals, contacts and users in upper case with strings for ids, items in camel case
// with ids as bare digits.

import type { Row } from './query.ts'
import type { Contact, Item, Manager, Order } from './records.ts'
import { stageCode } from './stages.ts'

export function dealRow(order: Order): Row {
  return {
    ID: order.dealId,
    TITLE: order.title,
    STAGE_ID: stageCode(order.stage),
    OPPORTUNITY: order.amount,
    CURRENCY_ID: order.currency,
    CONTACT_ID: order.contactId,
    UF_CRM_ORDER_NUMBER: order.number,
    UF_CRM_DELIVERY_DATE: order.deliveryDate === null ? '' : `${order.deliveryDate}T03:00:00+03:00`,
  }
}

export function contactRow(contact: Contact): Row {
  return {
    ID: contact.id,
    NAME: contact.name,
    LAST_NAME: contact.lastName,
    ASSIGNED_BY_ID: contact.managerId,
    EMAIL: [{ VALUE: contact.email, VALUE_TYPE: 'WORK', TYPE_ID: 'EMAIL' }],
    PHONE: [{ VALUE: contact.phone, VALUE_TYPE: 'MOBILE', TYPE_ID: 'PHONE' }],
  }
}

export function userRow(manager: Manager): Row {
  return {
    ID: manager.id,
    ACTIVE: true,
    NAME: manager.name,
    LAST_NAME: manager.lastName,
    EMAIL: manager.email,
    UF_TELEGRAM_CHAT_ID: manager.telegramChatId,
  }
}

export function itemRow(item: Item): Row {
  return {
    id: BigInt(item.id),
    entityTypeId: Number(item.entityTypeId),
    createdTime: item.createdAt,
    stageId: `DT${item.entityTypeId}_1:NEW`,
    contactId: null,
    originatorId: null,
    originId: null,
    ...item.fields,
  }
}

/** What items can be searched by. */
export const ITEM_FIELDS = [
  'id',
  'title',
  'createdTime',
  'stageId',
  'contactId',
  'assignedById',
  'originatorId',
  'originId',
  'ufDescription',
]
