import type { Language } from './request.ts'

interface Article {
  readonly title: string
  readonly text: string
}

/** What the shop promises: the model answers from it. */
export const ARTICLES: Readonly<Record<Language, readonly Article[]>> = {
  ru: [
    {
      title: 'Возврат товара',
      text: 'Вернуть товар можно в течение четырнадцати дней. Курьер заберёт его бесплатно в удобное вам время, а деньги поступят на карту за три рабочих дня.',
    },
    {
      title: 'Товар пришёл повреждённым или разбитым',
      text: 'Сфотографируйте повреждение и упаковку: замену мы отправим в тот же день, а разбитый товар заберёт курьер.',
    },
    {
      title: 'Оплата заказа',
      text: 'Заказ можно оплатить картой на сайте или наличными при получении. Неоплаченный заказ мы держим трое суток.',
    },
    {
      title: 'Изменение адреса доставки',
      text: 'Адрес доставки можно изменить, пока заказ не передан курьеру: напишите новый адрес в ответ на это письмо.',
    },
  ],
  en: [
    {
      title: 'Returning goods',
      text: 'You can return goods within fourteen days. A courier collects them free of charge when it suits you, and the refund reaches your card within three working days.',
    },
    {
      title: 'Goods arrived damaged or broken',
      text: 'Please take a picture of the damage and of the box: we send a replacement the same day, and a courier takes the broken one away.',
    },
    {
      title: 'Paying for an order',
      text: 'An order can be paid by card on the site or in cash on delivery. We keep an unpaid order for three days.',
    },
    {
      title: 'Changing the delivery address',
      text: 'The delivery address can be changed until the order is with the courier: reply to this message with the new address.',
    },
  ],
}
