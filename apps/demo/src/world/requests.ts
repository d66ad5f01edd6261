import type { Language, SupportRequest } from '../agent/request.ts'
import { randomOf } from './random.ts'

export interface Arrival {
  /** After the one before. */
  readonly gapMs: number
  readonly request: SupportRequest
}

const CLIENTS = [
  { id: '101', name: 'Анна Петрова' },
  { id: '102', name: 'Иван Смирнов' },
  { id: '103', name: 'John Miller' },
] as const

const ORDERS = ['5501', '5502', '5503', '5505', '5506', '5507'] as const

const QUESTIONS: Readonly<Record<Language, readonly ((order: string) => string)[]>> = {
  ru: [
    (order) => `Где мой заказ ${order}?`,
    (order) => `Заказ ${order} пришёл разбитым, что мне делать?`,
    (order) => `Хочу вернуть товар из заказа ${order}. Как это сделать?`,
    (order) => `Как изменить адрес доставки заказа ${order}?`,
    (order) => `Когда привезут заказ ${order} и как его оплатить?`,
  ],
  en: [
    (order) => `Where is my order ${order}?`,
    (order) => `Order ${order} arrived broken, what shall I do?`,
    (order) => `I want to return the goods of order ${order}. How?`,
    (order) => `How do I change the delivery address of order ${order}?`,
    (order) => `When does order ${order} come, and how can I pay for it?`,
  ],
}

/** The seed decides who asks what and when; the language is the viewer's at that moment. */
export function* arrivals(
  seed: number,
  { round, gapMs, language }: { readonly round: string; readonly gapMs: number; readonly language: () => Language },
): Generator<Arrival, never> {
  const random = randomOf(seed)
  const pick = <Item>(items: readonly Item[]): Item => items[Math.floor(random() * items.length)] as Item
  for (let number = 1; ; number += 1) {
    const client = pick(CLIENTS)
    const order = pick(ORDERS)
    const question = Math.floor(random() * QUESTIONS.ru.length)
    const gap = gapMs * (0.5 + random())
    const spoken = language()
    yield {
      gapMs: Math.round(gap),
      request: {
        id: `${round}-${String(number).padStart(3, '0')}`,
        language: spoken,
        clientId: client.id,
        clientName: client.name,
        text: (QUESTIONS[spoken][question] as (order: string) => string)(order),
      },
    }
  }
}
