import { Journal } from './journal.ts'
import type { Contact, Item, Manager, Order } from './records.ts'
import { CONTACTS, MANAGERS, ORDERS } from './seed.ts'

const FIRST_ITEM_ID = 7001n

/** What the CRM knows. With a file it outlives the process: changes are appended, and replayed over the seed. */
export class CrmState {
  readonly managers: ReadonlyMap<string, Manager> = new Map(MANAGERS.map((one) => [one.id, one]))
  readonly contacts: ReadonlyMap<string, Contact> = new Map(CONTACTS.map((one) => [one.id, one]))
  readonly #orders = new Map<string, Order>()
  readonly #items = new Map<string, Item>()
  readonly #journal: Journal | null
  #nextItemId = FIRST_ITEM_ID

  constructor(file: string | null) {
    this.#journal = file === null ? null : new Journal(file)
    this.#seed()
    for (const change of this.#journal?.read() ?? []) {
      if (change.kind === 'order') this.#orders.set(change.order.number, change.order)
      else if (change.kind === 'order_removed') this.#orders.delete(change.number)
      else this.#keepItem(change.item)
    }
  }

  orders(): Order[] {
    return [...this.#orders.values()]
  }

  order(number: string): Order | undefined {
    return this.#orders.get(number)
  }

  putOrder(order: Order): void {
    this.#orders.set(order.number, order)
    this.#journal?.append({ kind: 'order', order })
  }

  removeOrder(number: string): boolean {
    if (!this.#orders.delete(number)) return false
    this.#journal?.append({ kind: 'order_removed', number })
    return true
  }

  items(entityTypeId: string): Item[] {
    return [...this.#items.values()].filter((item) => item.entityTypeId === entityTypeId)
  }

  addItem(entityTypeId: string, fields: Item['fields']): Item {
    const item: Item = {
      id: String(this.#nextItemId),
      entityTypeId,
      createdAt: new Date().toISOString(),
      fields,
    }
    this.#keepItem(item)
    this.#journal?.append({ kind: 'item', item })
    return item
  }

  startItemIdsAt(id: bigint): void {
    this.#nextItemId = id
  }

  reset(): void {
    this.#items.clear()
    this.#orders.clear()
    this.#nextItemId = FIRST_ITEM_ID
    this.#journal?.clear()
    this.#seed()
  }

  #seed(): void {
    for (const order of ORDERS) this.#orders.set(order.number, order)
  }

  #keepItem(item: Item): void {
    this.#items.set(item.id, item)
    this.#nextItemId = BigInt(item.id) + 1n
  }
}
