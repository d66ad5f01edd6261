import { afterAll, beforeAll, expect, test } from 'vitest'
import { type RunningGigaChat, startGigaChat } from '../src/index.ts'
import { orderResult, SupportModel, ticketResult } from './support-prompt.ts'

const KNOWLEDGE = [
  '- Сроки доставки: По Москве доставляем за 1–2 рабочих дня, по России за 3–7 рабочих дней.',
  '- Возврат товара: Товар можно вернуть в течение 14 дней, если сохранены упаковка и чек.',
  '- Способы оплаты: Принимаем банковские карты и СБП.',
  '- Returns and refunds: Goods can be returned within 14 days of receipt.',
]
const FOUND = {
  found: true,
  title: 'Кофемашина',
  status: 'Передан в доставку',
  amount: '12900.00',
  currency: 'RUB',
  delivery_date: '2026-12-05',
}

// The model remembers nothing, so one server serves the whole file.
let gigachat: RunningGigaChat
let model: SupportModel

beforeAll(async () => {
  gigachat = await startGigaChat({ chunkDelayMs: 0 })
  model = await SupportModel.start(gigachat)
})
afterAll(() => gigachat.close())

test('a reply says what the order and the ticket say, and another result gives another reply', async () => {
  const request = { request: 'Где мой заказ 5501?', knowledge: KNOWLEDGE }

  const first = await model.reply(request, [
    orderResult('5501', FOUND),
    ticketResult({ ticket_id: '9007199254740993' }),
  ])
  const changed = { ...FOUND, status: 'Отменён', amount: '990.50', delivery_date: null }
  const second = await model.reply(request, [orderResult('5501', changed), ticketResult({ id: '42' })])

  expect(first).toContain('Здравствуйте, Анна!')
  expect(first).toContain('«Передан в доставку»')
  expect(first).toContain('12 900 ₽')
  expect(first).toContain('5 декабря 2026')
  expect(first).toContain('№ 9007199254740993')
  expect(first).not.toContain('рабочих дня')
  expect(second).toContain('«Отменён»')
  expect(second).toContain('990,50 ₽')
  expect(second).toContain('№ 42')
  expect(second).not.toMatch(/доставк/)
})

test('an English question is answered in English, with the status as the system says it', async () => {
  const reply = await model.reply({ request: 'Where is my order 5501?' }, [orderResult('5501', FOUND)], 'en')

  expect(reply).toContain('Hello, Анна!')
  expect(reply).toContain('"Передан в доставку" (handed over for delivery)')
  expect(reply).toContain('12,900 RUB')
  expect(reply).toContain('5 December 2026')
})

test('the language that the system message names wins over the letters of the request', async () => {
  expect(await model.reply({ request: '5501?' }, [orderResult('5501', FOUND)], 'en')).toContain('Order 5501')
})

test('of several orders each gets what is known of it', async () => {
  const reply = await model.reply({ request: 'Заказы 5501, 5509, 5510 и 5511' }, [
    orderResult('5501', FOUND),
    orderResult('5509', { found: false }),
    orderResult('5510', null),
    orderResult('5511', null, 'unknown'),
  ])

  expect(reply).toContain('Заказ 5501 (Кофемашина)')
  expect(reply).toContain('Заказ 5509 у нас не найден')
  expect(reply).toContain('Заказ 5510 у нас не найден')
  expect(reply).toContain('Узнать состояние заказа 5511 сейчас не удалось')
})

test('the fields of a raw CRM record are understood as well', async () => {
  const deal = {
    ID: '8001',
    STAGE_ID: 'В пути',
    OPPORTUNITY: '4590.50',
    CURRENCY_ID: 'RUB',
    UF_CRM_DELIVERY_DATE: '2026-12-09T03:00:00+03:00',
  }

  const reply = await model.reply({ request: 'Заказ 5502' }, [orderResult('5502', [deal])])

  expect(reply).toContain('«В пути»')
  expect(reply).toContain('4 590,50 ₽')
  expect(reply).toContain('9 декабря 2026')
})

test('a ticket whose outcome is unknown or failed is not said to be registered', async () => {
  const unknown = await model.reply({ request: 'Как вернуть товар?' }, [ticketResult(null, 'unknown')])
  const failed = await model.reply({ request: 'Как вернуть товар?' }, [ticketResult(null, 'failed')])

  expect(unknown).toContain('Подтверждения, что обращение зарегистрировано, пока нет')
  expect(failed).toContain('не удалось')
  expect(unknown).not.toContain('№')
})

test.each([
  ['За сколько дней вы привезёте в Казань?', '3–7 рабочих дней'],
  ['Хочу вернуть покупку', 'в течение 14 дней'],
  ['Можно заплатить картой?', 'банковские карты и СБП'],
])('"%s" is answered from the article that fits', async (request, expected) => {
  const reply = await model.reply({ request, knowledge: KNOWLEDGE }, [])

  expect(reply).toContain(expected)
  expect(reply.split('\n\n')).toHaveLength(2)
})

test('an English question is answered from the English article', async () => {
  const reply = await model.reply({ request: 'How do I get a refund?', knowledge: KNOWLEDGE }, [], 'en')

  expect(reply).toContain('Goods can be returned within 14 days')
})

test('a question that no article answers is said to have no ready answer', async () => {
  const reply = await model.reply({ request: 'Есть ли у вас вакансии?', knowledge: KNOWLEDGE }, [])

  expect(reply).toContain('Готового ответа на этот вопрос у нас нет')
})

test('a complaint gets an apology, thanks are returned, and a greeting is asked what it wants', async () => {
  expect(await model.reply({ request: 'Заказ 5501 пришёл разбитый!' }, [])).toContain('Нам жаль')
  expect(await model.reply({ request: 'Спасибо!' }, [])).toBe('Рады были помочь!')
  expect(await model.reply({ request: 'Здравствуйте' }, [])).toContain('Чем можем помочь?')
})

test('an attachment is said to be read by its name', async () => {
  const attachments = '[накладная.txt; read as windows-1251]\nТовар повреждён'

  expect(await model.reply({ request: 'Посмотрите файл', attachments }, [])).toContain('накладная.txt')
})

test('what was found wrong is left out the second time', async () => {
  const request = { request: 'Где мой заказ 5501?', problems: ['amount 12 900 stands in no source'] }

  const reply = await model.reply(request, [orderResult('5501', FOUND)])

  expect(reply).not.toContain('12 900')
  expect(reply).toContain('«Передан в доставку»')
})
