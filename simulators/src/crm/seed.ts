import type { Contact, Manager, Order } from './records.ts'

export const MANAGERS: readonly Manager[] = [
  manager('7', 'Мария', 'Соколова', '700100200'),
  // A chat id past 2^53: a number would be rounded to another chat.
  manager('9', 'Олег', 'Гусев', '5366182128746793135'),
]

export const CONTACTS: readonly Contact[] = [
  contact('101', 'Анна', 'Петрова', '7'),
  contact('102', 'Иван', 'Смирнов', '9'),
  contact('103', 'John', 'Miller', '7'),
  contact('9007199254740993', 'Ольга', 'Крылова', '9'),
]

export const ORDERS: readonly Order[] = [
  order('8001', '5501', 'Кофемашина «Утро»', 'Передан в доставку', '12900.00', '2026-12-05', '101'),
  order('8002', '5502', 'Кофе в зёрнах, 3 кг', 'Ожидает оплаты', '4590.50', null, '101'),
  order('8003', '5503', 'Чайник стеклянный 1,7 л', 'Доставлен', '3250.00', '2026-11-24', '102'),
  order('8004', '5504', 'Набор чашек, 6 шт.', 'Отменён', '1980.00', null, '102'),
  order('8005', '5505', 'Espresso grinder Mill-2', 'Готов к выдаче', '18400.00', '2026-12-03', '103'),
  order('8006', '5506', 'Фильтр для воды', 'Собирается на складе', '890.00', '2026-12-09', '103'),
  order('8007', '5507', 'Весы кухонные', 'Возврат оформляется', '2340.00', '2026-11-19', '101'),
  order('9007199254740995', '9007199254740993', 'Капучинатор', 'Новый', '5100.00', '2026-12-11', '9007199254740993'),
]

function manager(id: string, name: string, lastName: string, telegramChatId: string): Manager {
  return { id, name, lastName, email: `manager-${id}@crm.example`, telegramChatId }
}

function contact(id: string, name: string, lastName: string, managerId: string): Contact {
  return {
    id,
    name,
    lastName,
    email: `client-${id}@mail.example`,
    phone: `+7900000${id.slice(-4).padStart(4, '0')}`,
    managerId,
  }
}

function order(
  dealId: string,
  number: string,
  title: string,
  stage: string,
  amount: string,
  deliveryDate: string | null,
  contactId: string,
): Order {
  return { dealId, number, title, stage, amount, currency: 'RUB', deliveryDate, contactId }
}
