import { ReasonedError, TerminalError } from 'foothold'
import type { EmbeddingModel } from '../port.ts'
import type { Api } from './api.ts'

/** The API names no limit; so many short texts take well under a second, and one failure repeats only so much. */
const BATCH_SIZE = 64
const TIMEOUT_MS = 60_000

export function gigachatEmbeddings(options: {
  readonly api: Api
  readonly model: string
  readonly dimensions: number
}): EmbeddingModel {
  const { api, model, dimensions } = options

  async function embedBatch(texts: readonly string[], signal: AbortSignal): Promise<number[][]> {
    const body = await api.json('/embeddings', { model, input: texts }, { signal, timeoutMs: TIMEOUT_MS })
    const vectors = readVectors(body, texts.length)
    const odd = vectors.find((vector) => vector.length !== dimensions)
    if (odd === undefined) return vectors
    throw new TerminalError(`GigaChat: ${model} answers with ${odd.length} dimensions, ${dimensions} were expected.`, {
      reason: 'llm_refused',
    })
  }

  return {
    id: model,
    dimensions,
    async embed(texts, { signal }) {
      const vectors: number[][] = []
      for (let at = 0; at < texts.length; at += BATCH_SIZE) {
        vectors.push(...(await embedBatch(texts.slice(at, at + BATCH_SIZE), signal)))
      }
      return vectors
    },
  }
}

/** By their `index`: the order of `data` is nowhere promised. */
function readVectors(body: unknown, count: number): number[][] {
  const data = (body as { data?: unknown } | null)?.data
  const vectors = new Map<unknown, number[]>()
  for (const item of Array.isArray(data) ? (data as { index?: unknown; embedding?: unknown }[]) : []) {
    if (isVector(item?.embedding)) vectors.set(item.index, item.embedding)
  }
  const ordered = Array.from({ length: count }, (_, index) => vectors.get(index))
  if (ordered.every((vector) => vector !== undefined)) return ordered
  throw new ReasonedError(`GigaChat: ${vectors.size} vectors came for ${count} texts.`, { reason: 'llm_incomplete' })
}

function isVector(value: unknown): value is number[] {
  return Array.isArray(value) && value.length > 0 && value.every((number) => typeof number === 'number')
}
