import type pg from 'pg'
import type { Article } from '../ports.ts'

/** What the shop answers from when it has entered nothing of its own. */
export const KNOWLEDGE: readonly Article[] = [
  {
    title: 'Сроки доставки',
    text: 'По Москве и Санкт-Петербургу доставляем за 1–2 рабочих дня, по России за 3–7 рабочих дней. Точная дата стоит в заказе.',
  },
  {
    title: 'Стоимость доставки',
    text: 'Доставка стоит 390 ₽, при заказе от 5000 ₽ она бесплатна. Самовывоз из пункта выдачи бесплатный.',
  },
  {
    title: 'Возврат товара',
    text: 'Товар надлежащего качества можно вернуть в течение 14 дней после получения, если сохранены упаковка и чек. Деньги возвращаем на карту за 10 дней.',
  },
  {
    title: 'Брак и гарантия',
    text: 'Если товар сломан или бракован, заменим его или вернём деньги. Гарантия на технику 12 месяцев. Приложите фото и опишите неисправность.',
  },
  {
    title: 'Способы оплаты',
    text: 'Принимаем банковские карты, СБП и оплату при получении. Счёт для организаций выставляем по запросу.',
  },
  {
    title: 'Отмена заказа',
    text: 'Заказ можно отменить бесплатно до передачи в доставку. После передачи оформите возврат при получении.',
  },
  {
    title: 'Изменение адреса доставки',
    text: 'Адрес можно изменить, пока заказ не передан в доставку: напишите номер заказа и новый адрес.',
  },
  {
    title: 'Чек и документы',
    text: 'Электронный чек приходит на почту сразу после оплаты. Закрывающие документы для организаций отправляем через ЭДО.',
  },
  {
    title: 'Delivery times',
    text: 'Delivery takes 1–2 business days in Moscow and Saint Petersburg and 3–7 business days elsewhere in Russia. The exact date is stated in the order.',
  },
  {
    title: 'Returns and refunds',
    text: 'Goods of proper quality can be returned within 14 days of receipt with packaging and receipt. Money goes back to the card within 10 days.',
  },
  {
    title: 'Payment methods',
    text: 'We accept bank cards, SBP and payment on delivery. Invoices for companies are issued on request.',
  },
]

/** Only into an empty table: what people changed or removed stays so. */
export async function seedKnowledge(pool: pg.Pool, articles: readonly Article[] = KNOWLEDGE): Promise<void> {
  await pool.query(
    `insert into support.knowledge (title, body)
     select title, body from unnest($1::text[], $2::text[]) as seed (title, body)
      where not exists (select 1 from support.knowledge)
         on conflict (title) do nothing`,
    [articles.map((a) => a.title), articles.map((a) => a.text)],
  )
}
