// What customers of a shop write about, as the beginnings of the words they use for it. It joins words that share no
// letters ("привезут" and "доставка") and the two languages.

const CONCEPTS = {
  delivery: 'достав привез привоз курьер приед отправ пересыл deliver ship courier arriv dispatch',
  return: 'возвр верну вернут обмен return refund exchange',
  payment: 'оплат платит платеж плачу картой картам карты чек рассроч pay card invoice installment',
  warranty: 'гаранти ремонт сломал сломан брак неисправ разбит поврежд warrant repair broke damage defect fault',
  cancel: 'отмен аннулир cancel',
  pickup: 'самовывоз выдач забрать забира pickup collect',
  hours: 'график режим часы работает открыт закрыва закрыт hours schedule open clos',
  person: 'оператор менеджер человек сотрудник специалист operator manager human person',
  address: 'адрес address',
  discount: 'скидк промокод акци бонус discount promo coupon',
  account: 'парол кабинет аккаунт регистрац password login account',
  time: 'срок когда долго дней дня days long when soon',
  order: 'заказ order покупк purchase',
  status: 'статус где status where track отслед',
} as const

export type Concept = keyof typeof CONCEPTS

const BEGINNINGS = Object.entries(CONCEPTS).flatMap(([concept, words]) =>
  words.split(' ').map((beginning) => ({ beginning, concept: concept as Concept })),
)

export function conceptsOf(words: readonly string[]): Set<Concept> {
  const found = words.flatMap((word) => BEGINNINGS.filter(({ beginning }) => word.startsWith(beginning)))
  return new Set(found.map(({ concept }) => concept))
}
