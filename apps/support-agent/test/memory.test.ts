import { randomUUID } from 'node:crypto'
import { createTestDatabase, type TestDatabase } from 'foothold/testing'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { seedKnowledge } from '../src/integrations/knowledge.ts'
import { createMemory } from '../src/integrations/memory.ts'
import { migrate } from '../src/integrations/migrations.ts'
import type { EmbeddingModel } from '../src/ports.ts'

let database: TestDatabase
let pool: pg.Pool

beforeAll(async () => {
  database = await createTestDatabase(inject('postgresUrl'))
  pool = new pg.Pool({ connectionString: database.url, max: 4 })
  pool.on('error', () => undefined)
  await migrate(pool)
})
afterAll(async () => {
  await pool.end()
  await database.drop()
})

const DIMENSIONS = 64

/** Words that begin alike lie near each other. */
function wordModel(id = 'words-1'): EmbeddingModel & { readonly calls: string[][] } {
  const calls: string[][] = []
  return {
    id,
    dimensions: DIMENSIONS,
    calls,
    embed: (texts) => {
      calls.push([...texts])
      return Promise.resolve(texts.map(vectorOf))
    },
  }
}

function vectorOf(text: string): number[] {
  const vector = Array.from({ length: DIMENSIONS }, () => 0)
  for (const word of text.toLowerCase().match(/\p{L}{3,}/gu) ?? []) {
    const stem = word.slice(0, 5)
    const slot = stem
      .split('')
      .reduce((hash, letter) => (hash * 31 + (letter.codePointAt(0) as number)) % DIMENSIONS, 7)
    vector[slot] = (vector[slot] as number) + 1
  }
  return vector
}

async function addExchange(clientId: string, request: string, answer = 'Ответили.'): Promise<void> {
  await pool.query(
    `insert into support.exchanges (task_id, client_id, request, answer, outcome) values ($1, $2, $3, $4, 'answered')`,
    [randomUUID(), clientId, request, answer],
  )
}

const { signal } = new AbortController()

test('several processes that start at once migrate once', async () => {
  await Promise.all(Array.from({ length: 4 }, () => migrate(pool)))

  const { rows } = await pool.query('select version from support.migrations')
  expect(rows).toEqual([{ version: 1 }])
})

test('articles are found by meaning, and what people changed is not seeded over', async () => {
  await seedKnowledge(pool)
  await pool.query(`delete from support.knowledge where title = 'Способы оплаты'`)
  await seedKnowledge(pool)
  const memory = createMemory({ pool, embeddings: wordModel() })

  const { knowledge } = await memory.recall('никто', 'Сколько стоит доставка?', { signal })

  expect(knowledge[0]?.title).toBe('Стоимость доставки')
  const { rows } = await pool.query(`select 1 from support.knowledge where title = 'Способы оплаты'`)
  expect(rows).toEqual([])
})

test("a client with a few exchanges finds all of them behind another's thousands that lie nearer", async () => {
  await pool.query(
    `insert into support.exchanges (task_id, client_id, request, answer, outcome, embedding, embedding_model)
     select gen_random_uuid(), 'богатый', 'Где заказ', 'x', 'answered', $1::real[], 'words-1' from generate_series(1, 5000)`,
    [vectorOf('Где заказ')],
  )
  for (const number of [1, 2, 3, 4, 5]) await addExchange('скромный', `Про возврат чайника, письмо ${number}`)
  const memory = createMemory({ pool, embeddings: wordModel(), exchangesMax: 5 })

  const { history } = await memory.recall('скромный', 'Где заказ', { signal })

  expect(history).toHaveLength(5)
  expect(history.every(({ request }) => request.includes('чайника'))).toBe(true)
})

test('the nearest exchange comes first', async () => {
  await addExchange('клиент', 'Хочу вернуть сломанный чайник', 'Оформили возврат.')
  await addExchange('клиент', 'Когда привезут кофемашину')
  const memory = createMemory({ pool, embeddings: wordModel(), exchangesMax: 1 })

  const { history } = await memory.recall('клиент', 'чайник сломан', { signal })

  expect(history).toEqual([
    { request: 'Хочу вернуть сломанный чайник', answer: 'Оформили возврат.', at: expect.any(String) },
  ])
})

test('a row is embedded once, and again only for another model', async () => {
  await addExchange('модели', 'Где чек')
  const first = wordModel('words-1')
  const second = wordModel('words-2')

  for (let round = 0; round < 2; round += 1)
    await createMemory({ pool, embeddings: first }).recall('модели', 'чек', { signal })
  const { history } = await createMemory({ pool, embeddings: second }).recall('модели', 'чек', { signal })

  expect(first.calls.flat().filter((text) => text.startsWith('Где чек'))).toHaveLength(1)
  expect(second.calls.flat().filter((text) => text.startsWith('Где чек'))).toHaveLength(1)
  expect(history).toHaveLength(1)
})

describe('retrieval that takes too long fails as retrieval_timeout', () => {
  test('the embedding service hangs', async () => {
    const embeddings: EmbeddingModel = {
      ...wordModel(),
      embed: (_texts, options) =>
        new Promise((_resolve, reject) => {
          options.signal.addEventListener('abort', () => reject(options.signal.reason as Error))
        }),
    }
    const memory = createMemory({ pool, embeddings, timeoutMs: 50 })

    await expect(memory.recall('x', 'y', { signal })).rejects.toMatchObject({ reason: 'retrieval_timeout' })
  })

  test('the database holds the table', async () => {
    const holder = new pg.Client({ connectionString: database.url })
    await holder.connect()
    await holder.query('begin; lock table support.knowledge in access exclusive mode')
    const slow = new pg.Pool({ connectionString: database.url, statement_timeout: 100 })
    try {
      const memory = createMemory({ pool: slow, embeddings: wordModel() })

      await expect(memory.recall('x', 'y', { signal })).rejects.toMatchObject({ reason: 'retrieval_timeout' })
    } finally {
      await holder.end()
      await slow.end()
    }
  })
})

test('an abort is passed on as itself', async () => {
  const stop = new AbortController()
  stop.abort(new Error('graceful_shutdown'))

  await expect(
    createMemory({ pool, embeddings: wordModel() }).recall('x', 'y', { signal: stop.signal }),
  ).rejects.toThrow('graceful_shutdown')
})

test('with pgvector the same question has the same answers as without', async (context) => {
  const { rowCount } = await pool.query(`select 1 from pg_available_extensions where name = 'vector'`)
  context.skip(rowCount === 0, 'this PostgreSQL has no pgvector')
  for (let index = 0; index < 40; index += 1) {
    const words = ['чайник', 'возврат', 'доставка', 'кофемашина', 'оплата', 'чек', 'адрес']
    await addExchange('оба', words.filter((_, at) => (index >> at) % 2 === 1 || at === index % 7).join(' '))
  }
  const questions = ['возврат чайника', 'доставка и адрес', 'чек об оплате кофемашины']
  const recallAll = () => {
    const memory = createMemory({ pool, embeddings: wordModel(), exchangesMax: 8 })
    return Promise.all(questions.map((question) => memory.recall('оба', question, { signal })))
  }

  const without = await recallAll()
  await pool.query('create extension vector')
  const withExtension = await recallAll()

  expect(withExtension).toEqual(without)
})
