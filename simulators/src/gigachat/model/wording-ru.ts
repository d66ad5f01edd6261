import { amountText, dateText } from './figures.ts'
import type { Wording } from './wording.ts'

export const RUSSIAN: Wording = {
  language: 'ru',
  hello: (name) => (name === null ? 'Здравствуйте!' : `Здравствуйте, ${name}!`),
  howToHelp: 'Чем можем помочь? Напишите вопрос, а если он о заказе, то и номер заказа.',
  youAreWelcome: 'Рады были помочь!',
  sorry: 'Нам жаль, что так получилось.',
  order: (number, title, status) =>
    `Заказ ${number}${title === null ? '' : ` (${title})`}: ${status === null ? 'статус не указан' : `статус «${status}»`}.`,
  total: (amount, currency) => `Сумма заказа: ${amountText(amount, currency, 'ru')}.`,
  deliveryOn: (date) => `Дата доставки: ${dateText(date, 'ru')}.`,
  noDeliveryDate: 'Дата доставки пока не назначена.',
  orderMissing: (number) => `Заказ ${number} у нас не найден: проверьте, пожалуйста, номер.`,
  orderUnread: (number) => `Узнать состояние заказа ${number} сейчас не удалось.`,
  filesRead: (names) => `${names.length === 1 ? 'Вложение прочитано' : 'Вложения прочитаны'}: ${names.join(', ')}.`,
  noAnswer: 'Готового ответа на этот вопрос у нас нет.',
  ticketDone: (id) =>
    id === null
      ? 'Обращение зарегистрировано, его рассмотрит сотрудник.'
      : `Обращение № ${id} зарегистрировано, его рассмотрит сотрудник.`,
  ticketUnknown: 'Подтверждения, что обращение зарегистрировано, пока нет: это проверит сотрудник.',
  ticketFailed: 'Зарегистрировать обращение автоматически не удалось.',
  otherDone: (name, fields) =>
    fields.size === 0
      ? `Действие ${name} выполнено.`
      : `${name}: ${[...fields].map(([key, value]) => `${key} ${value}`).join(', ')}.`,
  otherUnread: (name) => `Результат действия ${name} пока неизвестен.`,
}
