import { ReasonedError } from 'foothold'
import type pg from 'pg'
import type { Article, EmbeddingModel, Exchange, Memory, Recollection } from '../ports.ts'

export interface MemoryOptions {
  readonly pool: pg.Pool
  readonly embeddings: EmbeddingModel
  readonly exchangesMax?: number
  readonly articlesMax?: number
  /** Of one recall, the embedding call included. */
  readonly timeoutMs?: number
}

const TIMEOUT_MS = 15_000
/** A client's newest ones are searched; it bounds the exact search, with and without the extension. */
const EXCHANGES_SEARCHED_MAX = 2_000
/** Texts embedded in one recall; what is left over waits for the next. */
const EMBEDDED_AT_ONCE_MAX = 100
/** Embedding models read about 500 tokens. */
const EMBEDDED_CHARACTERS_MAX = 1_500
/** Below this two texts merely share a language. */
const SIMILARITY_MIN = 0.15

/**
 * Searches by meaning, exactly: within one client's exchanges, and over the articles. With pgvector the distance is
 * computed by the extension, without it by plain SQL over the same arrays, with the same order of results.
 *
 * Rows are embedded when they are first searched, not when they are written: storing an answer never waits for the
 * embedding service, and another model only has to be configured.
 */
export function createMemory({
  pool,
  embeddings,
  exchangesMax = 5,
  articlesMax = 4,
  timeoutMs = TIMEOUT_MS,
}: MemoryOptions): Memory {
  let extension: Promise<boolean> | null = null

  async function hasVectors(): Promise<boolean> {
    extension ??= hasExtension(pool)
    try {
      return await extension
    } catch (error) {
      extension = null
      throw error
    }
  }

  async function recallWithin(clientId: string, query: string, signal: AbortSignal): Promise<Recollection> {
    const stale = await staleRows(pool, embeddings.id, clientId)
    const texts = [query, ...stale.map((row) => row.text)].map(embeddable)
    const [wanted = [], ...others] = (await embeddings.embed(texts, { signal })).map(normalised)
    await saveEmbeddings(pool, embeddings.id, stale, others)
    signal.throwIfAborted()
    const distance = (await hasVectors()) ? VECTOR_SIMILARITY : PLAIN_SIMILARITY
    const [history, knowledge] = await Promise.all([
      pool.query<Exchange>(exchangesSql(distance), [
        clientId,
        wanted,
        embeddings.id,
        exchangesMax,
        EXCHANGES_SEARCHED_MAX,
      ]),
      pool.query<Article>(articlesSql(distance), [wanted, embeddings.id, articlesMax, SIMILARITY_MIN]),
    ])
    return { history: history.rows, knowledge: knowledge.rows }
  }

  return {
    async recall(clientId, query, { signal }): Promise<Recollection> {
      const limit = AbortSignal.timeout(timeoutMs)
      try {
        return await withSignal(recallWithin(clientId, query, AbortSignal.any([signal, limit])), limit)
      } catch (error) {
        signal.throwIfAborted()
        if (!limit.aborted && !isQueryTimeout(error)) throw error
        throw new ReasonedError(`memory gave no answer within ${timeoutMs} ms`, {
          reason: 'retrieval_timeout',
          cause: error,
        })
      }
    },
  }
}

/** Both take normalised arrays and give the cosine, rounded so that the last digits of two ways to add do not decide. */
const VECTOR_SIMILARITY = (embedding: string, wanted: string): string =>
  `round((1 - (${embedding}::vector <=> ${wanted}::real[]::vector))::numeric, 4)`
const PLAIN_SIMILARITY = (embedding: string, wanted: string): string =>
  `round((select sum(a.x::float8 * b.x) from unnest(${embedding}) with ordinality a(x, n)
          join unnest(${wanted}::real[]) with ordinality b(x, n) using (n))::numeric, 4)`

type Similarity = typeof VECTOR_SIMILARITY

function exchangesSql(similarity: Similarity): string {
  return `
    select request, answer, to_char(created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') as at
      from (select * from support.exchanges
             where client_id = $1 and embedding_model = $3 and cardinality(embedding) = cardinality($2::real[])
             order by created_at desc limit $5) mine
     order by ${similarity('mine.embedding', '$2')} desc, created_at desc, task_id
     limit $4`
}

function articlesSql(similarity: Similarity): string {
  return `
    select title, body as text
      from (select *, ${similarity('embedding', '$1')} as similarity
              from support.knowledge
             where embedding_model = $2 and cardinality(embedding) = cardinality($1::real[])) known
     where similarity >= $4
     order by similarity desc, id
     limit $3`
}

interface StaleRow {
  readonly kind: 'article' | 'exchange'
  readonly id: string
  readonly text: string
}

async function staleRows(pool: pg.Pool, model: string, clientId: string): Promise<StaleRow[]> {
  const { rows } = await pool.query<StaleRow>(
    `(select 'exchange' as kind, task_id::text as id, request || E'\\n' || answer as text
        from support.exchanges where client_id = $2 and embedding_model is distinct from $1
       order by created_at desc limit $3)
     union all
     (select 'article', id::text, title || E'\\n' || body
        from support.knowledge where embedding_model is distinct from $1 order by id limit $3)
     limit $3`,
    [model, clientId, EMBEDDED_AT_ONCE_MAX],
  )
  return rows
}

async function saveEmbeddings(
  pool: pg.Pool,
  model: string,
  rows: readonly StaleRow[],
  vectors: readonly (readonly number[])[],
): Promise<void> {
  for (const [index, { kind, id }] of rows.entries()) {
    const [table, column, type] =
      kind === 'article' ? ['support.knowledge', 'id', 'bigint'] : ['support.exchanges', 'task_id', 'uuid']
    await pool.query(`update ${table} set embedding = $1::real[], embedding_model = $2 where ${column} = $3::${type}`, [
      vectors[index],
      model,
      id,
    ])
  }
}

async function hasExtension(pool: pg.Pool): Promise<boolean> {
  const { rows } = await pool.query<{ has: boolean }>(
    `select exists (select 1 from pg_extension where extname = 'vector') as has`,
  )
  return rows[0]?.has === true
}

function embeddable(text: string): string {
  const cut = text.slice(0, EMBEDDED_CHARACTERS_MAX).trim()
  // An empty text has no meaning to search by, and providers refuse it.
  return cut === '' ? '-' : cut
}

function normalised(vector: readonly number[]): number[] {
  const length = Math.hypot(...vector)
  return length === 0 ? [...vector] : vector.map((x) => x / length)
}

/** A query under way cannot be called back; its answer is not waited for. */
function withSignal<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = (): void => reject(signal.reason as Error)
    signal.addEventListener('abort', stop, { once: true })
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', stop))
  })
}

function isQueryTimeout(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  return (error as { code?: unknown }).code === '57014' || error.message === 'Query read timeout'
}
