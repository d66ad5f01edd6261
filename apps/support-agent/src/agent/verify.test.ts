import { describe, expect, test } from 'vitest'
import type { PromptContext, ToolResult } from './prompts.ts'
import { verify } from './verify.ts'

const CONTEXT: PromptContext = {
  text: 'Где мой заказ 5501? Вы должны мне 100000 ₽, обещали 7 декабря 2026.',
  attachments: [{ name: 'чек.txt', text: 'Оплачено по счёту 48213', note: null }],
  client: { id: '101', name: 'Анна' },
  recollection: {
    history: [{ request: 'Сколько стоит доставка?', answer: 'Доставка стоит 390 ₽.', at: '2026-11-20T10:00:00Z' }],
    knowledge: [{ title: 'Возврат', text: 'Вернуть можно в течение 14 дней. Подробно: https://shop.example/returns.' }],
  },
}
const RESULTS: ToolResult[] = [
  {
    call: { id: 'order-5501', name: 'get_order', arguments: { order_id: '5501' } },
    outcome: 'done',
    result: {
      found: true,
      order_id: '5501',
      status: 'Передан в доставку',
      amount: '12900.00',
      delivery_date: '2026-12-05',
    },
  },
  {
    call: { id: 'ticket', name: 'create_ticket', arguments: { subject: 'Заказ 5501, номер 777123', description: 'x' } },
    outcome: 'done',
    result: { ticket_id: '9007199254740993' },
  },
]

function problems(draft: string, language = 'ru'): string[] {
  return verify({ draft, language, context: CONTEXT, results: RESULTS })
}

describe('a draft passes when every figure stands in a source, however it is written', () => {
  test.each([
    'Заказ 5501 передан в доставку, сумма 12 900 ₽, дата доставки 5 декабря 2026 года.',
    'Заказ № 5501: 12 900,00 руб., доставим 05.12.2026.',
    'Order 5501 costs 12,900.00 RUB and arrives on December 5, 2026.',
    'Order 5501 arrives on 5 December.',
    'Обращение 9007199254740993 зарегистрировано.',
    'Доставка стоит 390 ₽, вернуть можно в течение 14 дней.',
    'Оплату по счёту 48213 мы видим.',
    'Подробно: https://shop.example/returns',
    '1. Проверьте упаковку.\n2. Сохраните чек.\n3) Напишите нам.',
    'Здравствуйте! Передали ваш вопрос коллегам.',
  ])('%s', (draft) => {
    expect(problems(draft, draft.startsWith('Order') ? 'en' : 'ru')).toEqual([])
  })
})

describe('a figure that no source states is a problem', () => {
  test.each([
    ['Заказ 5502 уже в пути.', '5502'],
    ['Сумма заказа 12 901 ₽.', '12 901'],
    ['Сумма заказа 12 900,50 ₽.', '12 900,50'],
    ['Доставим 6 декабря 2026.', '6 декабря 2026'],
    ['Доставим 05.12.2027.', '05.12.2027'],
    ['Arrives on December 6.', 'December 6'],
    ['Скидка 15 % ваша.', '15'],
    ['Вернуть можно в течение 30 дней.', '30'],
    ['Ответим через 3–5 рабочих дней.', '5'],
    ['Обращение 9007199254740992 зарегистрировано.', '9007199254740992'],
    ['Звоните 8-800-555-35-35.', '800'],
    ['Подробно: https://evil.example/pay', 'https://evil.example/pay'],
    ['Пишите на refund@evil.example', 'refund@evil.example'],
  ])('%s', (draft, figure) => {
    const found = problems(draft, draft.startsWith('Arrives') ? 'en' : 'ru')

    expect(found.join('\n')).toContain(figure)
    expect(found.join('\n')).toContain('stands in no source')
  })
})

test("the client's own words prove no amount and no date", () => {
  expect(problems('Вернём вам 100 000 ₽.')).toEqual(["amount 100 000 stands only in the client's own words"])
  expect(problems('Доставим 7 декабря 2026.')).toEqual(["date 7 декабря 2026 stands only in the client's own words"])
})

test('what the model itself wrote into a call proves nothing', () => {
  expect(problems('Ваш номер 777123.')).toEqual(['id 777123 stands in no source'])
})

test('a result that was never had cannot be quoted: an unknown outcome is no source', () => {
  const results = RESULTS.map((result) => ({ ...result, outcome: 'unknown' as const }))

  const found = verify({ draft: 'Заказ 5501: сумма 12 900 ₽.', language: 'ru', context: CONTEXT, results })

  expect(found).toEqual(['amount 12 900 stands in no source'])
})

test('an empty draft, one in another language and one that repeats the markup are refused', () => {
  expect(problems('  \n ')).toEqual(['the draft is empty'])
  expect(problems('Your order has been handed to the delivery service.')[0]).toContain('not in the client')
  expect(problems('<tool_results> Ваш заказ передан в доставку </tool_results>')[0]).toContain('markup')
})

test('a draft that is too long to be a reply is refused', () => {
  expect(problems('а'.repeat(8_001))).toEqual(['the draft takes over 8000 characters'])
})

test.each(['1 234 ', '1', '5 ', '12.', '5 мая ', 'a@', 'https://a.', '№ '])(
  'sources of 200,000 characters of %j are read in bounded time',
  (piece) => {
    const text = piece.repeat(200_000 / piece.length)
    const context = { ...CONTEXT, attachments: [{ name: 'a', text, note: null }] }
    const draft = piece.repeat(8_000 / piece.length)
    const startedMs = performance.now()

    verify({ draft, language: 'ru', context, results: [] })

    expect(performance.now() - startedMs).toBeLessThan(3_000)
  },
)
