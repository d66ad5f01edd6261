/** Ids are strings of digits throughout: some pass 2^53. */
export interface Manager {
  readonly id: string
  readonly name: string
  readonly lastName: string
  readonly email: string
  readonly telegramChatId: string
}

export interface Contact {
  readonly id: string
  readonly name: string
  readonly lastName: string
  readonly email: string
  readonly phone: string
  readonly managerId: string
}

/** An order is a deal of the CRM. */
export interface Order {
  readonly dealId: string
  readonly number: string
  readonly title: string
  /** The stage's name as a client would read it. */
  readonly stage: string
  readonly amount: string
  readonly currency: string
  /** YYYY-MM-DD, or null while no day is agreed. */
  readonly deliveryDate: string | null
  readonly contactId: string
}

/** A record of a smart process; tickets are entity type 1032. */
export interface Item {
  readonly id: string
  readonly entityTypeId: string
  readonly createdAt: string
  readonly fields: Readonly<Record<string, unknown>>
}

export const TICKET_ENTITY_TYPE = '1032'
