import { afterAll, beforeAll, expect, test } from 'vitest'
import { type RunningGigaChat, startGigaChat } from '../src/index.ts'
import { GigaChatClient } from './gigachat-client.ts'

// Embeddings have no state, so one server serves the whole file.
let gigachat: RunningGigaChat
let client: GigaChatClient

beforeAll(async () => {
  gigachat = await startGigaChat()
  client = await GigaChatClient.start(gigachat)
})
afterAll(() => gigachat.close())

interface Embeddings {
  readonly data: readonly {
    readonly index: number
    readonly embedding: readonly number[]
    readonly usage: { prompt_tokens: number }
  }[]
}

async function embed(input: readonly string[], model = 'Embeddings'): Promise<(readonly number[])[]> {
  const answer = (await (await client.post('embeddings', { model, input })).json()) as Embeddings
  return answer.data.map(({ embedding }) => embedding)
}

function cosine(a: readonly number[], b: readonly number[]): number {
  return a.reduce((sum, value, index) => sum + value * (b[index] ?? 0), 0)
}

test('a text has a unit vector of 1024 dimensions, always the same; the large model has 2560', async () => {
  const [first = [], again = []] = await embed(['Сроки доставки', 'Сроки доставки'])
  const [large = []] = await embed(['Сроки доставки'], 'EmbeddingsGigaR')

  expect(first).toHaveLength(1024)
  expect(large).toHaveLength(2560)
  expect(again).toEqual(first)
  expect(cosine(first, first)).toBeCloseTo(1, 4)
})

const ARTICLES = {
  delivery: 'Сроки доставки: по Москве доставляем за 1–2 рабочих дня, по России за 3–7 рабочих дней.',
  returns: 'Возврат товара: товар можно вернуть в течение 14 дней, если сохранены упаковка и чек.',
  payment: 'Способы оплаты: принимаем банковские карты, СБП и оплату при получении.',
  warranty: 'Гарантия: если техника сломалась, отремонтируем или заменим её.',
  hours: 'Режим работы: магазин открыт с 10 до 21 часа ежедневно.',
}

test.each([
  ['Когда привезут мой заказ?', 'delivery'],
  ['How long does shipping take?', 'delivery'],
  ['хочу вернуть покупку', 'returns'],
  ['Можно оплатить картой?', 'payment'],
  ['Кофемашина сломалась через неделю', 'warranty'],
  ['До скольки вы открыты?', 'hours'],
  ['сроки дотавки', 'delivery'],
])('"%s" is nearest to the article on %s', async (question, expected) => {
  const [asked = [], ...articles] = await embed([question, ...Object.values(ARTICLES)])

  const ranked = Object.keys(ARTICLES)
    .map((name, index) => ({ name, similarity: cosine(asked, articles[index] ?? []) }))
    .toSorted((a, b) => b.similarity - a.similarity)

  expect(ranked[0]?.name).toBe(expected)
})

test('a text without a word still has a direction', async () => {
  const [empty = [], sign = []] = await embed(['', '!?'])

  expect(cosine(empty, empty)).toBeCloseTo(1)
  expect(cosine(sign, sign)).toBeCloseTo(1)
})

test('a model that makes no embeddings and a body without texts are refused', async () => {
  expect((await client.post('embeddings', { model: 'GigaChat-2-Pro', input: ['a'] })).status).toBe(404)
  expect((await client.post('embeddings', { model: 'Embeddings', input: [] })).status).toBe(422)
})
