import { TerminalError } from 'foothold'
import { expect, test } from 'vitest'
import { json, setup } from './gigachat-peer.ts'
import type { Route } from './wire-server.ts'

const EMBEDDINGS = '/api/v1/embeddings'
const COUNT = '/api/v1/tokens/count'
const signal = new AbortController().signal

/** A vector that says which text it is of. */
const vectorOf = (text: string, dimensions: number): number[] => [
  text.length,
  Number(/\d+/.exec(text)?.[0] ?? 0),
  ...Array.from({ length: dimensions - 2 }, () => 0.012345678901234567),
]

const embed =
  (dimensions: number): Route =>
  (response, request) =>
    json(response, {
      object: 'list',
      model: 'Embeddings',
      // Backwards: only the index tells which is which.
      data: (request.json.input as string[])
        .map((text, index) => ({ object: 'embedding', index, embedding: vectorOf(text, dimensions) }))
        .toReversed(),
    })

test('every text gets its own vector, over several requests', async () => {
  const { client, peer } = await setup({ [EMBEDDINGS]: embed(1024) })
  const texts = Array.from({ length: 150 }, (_, index) => `Статья ${index}`)

  const vectors = await client.embeddings.embed(texts, { signal })

  expect(vectors).toEqual(texts.map((text) => vectorOf(text, 1024)))
  expect(peer.to(EMBEDDINGS).map((request) => (request.json.input as string[]).length)).toEqual([64, 64, 22])
})

test('no texts cost no request', async () => {
  const { client, peer } = await setup({})

  expect(await client.embeddings.embed([], { signal })).toEqual([])
  expect(await client.countTokens([], { signal })).toEqual([])
  expect(peer.received).toEqual([])
})

test('vectors of another length than the table in the database expects stop the task', async () => {
  const { client } = await setup({ [EMBEDDINGS]: embed(768) })

  const embedding = client.embeddings.embed(['Привет'], { signal })

  await expect(embedding).rejects.toBeInstanceOf(TerminalError)
  await expect(embedding).rejects.toThrow('768 dimensions, 1024 were expected')
})

test.each([
  ['fewer vectors than texts', { data: [{ index: 0, embedding: [1] }] }],
  ['something that is no vector', { data: [{ index: 0, embedding: ['а'] }, null] }],
  ['nothing', null],
])('an answer with %s is incomplete', async (_what, body) => {
  const { client } = await setup({ [EMBEDDINGS]: (response) => json(response, body) })

  await expect(client.embeddings.embed(['а', 'б'], { signal })).rejects.toMatchObject({ reason: 'llm_incomplete' })
})

test('an abort while the vectors are awaited closes the request', async () => {
  const { client, peer } = await setup({ [EMBEDDINGS]: () => undefined })
  const stop = new AbortController()
  const arrival = peer.arrival(EMBEDDINGS)
  const embedding = client.embeddings.embed(['Привет'], { signal: stop.signal })
  const request = await arrival

  stop.abort(new Error('Стоп'))

  await expect(embedding).rejects.toThrow('Стоп')
  await request.aborted
})

test('tokens are counted by the provider, text by text', async () => {
  const { client, peer } = await setup({
    [COUNT]: (response, request) =>
      json(
        response,
        (request.json.input as string[]).map((text) => ({
          object: 'tokens',
          tokens: text.length,
          characters: text.length,
        })),
      ),
  })

  expect(await client.countTokens(['да', 'Привет'], { signal })).toEqual([2, 6])
  expect(peer.to(COUNT)[0]?.json).toEqual({ model: 'GigaChat-2-Pro', input: ['да', 'Привет'] })
})
