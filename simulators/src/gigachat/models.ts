import { ApiError } from './errors.ts'

const VERSION = '2.0.28.2'

const CHAT_MODELS = [
  'GigaChat',
  'GigaChat-2',
  'GigaChat-2-Pro',
  'GigaChat-2-Max',
  'GigaChat-Plus',
  'GigaChat-Pro',
  'GigaChat-Max',
]

const EMBEDDING_DIMENSIONS: Readonly<Record<string, number>> = {
  Embeddings: 1024,
  'Embeddings-2': 1024,
  EmbeddingsGigaR: 2560,
}

export function listModels(): unknown {
  const item = (type: string) => (id: string) => ({ id, object: 'model', owned_by: 'salutedevices', type })
  return {
    object: 'list',
    data: [...CHAT_MODELS.map(item('chat')), ...Object.keys(EMBEDDING_DIMENSIONS).map(item('embedder'))],
  }
}

/** The versioned name that answers carry. */
export function chatModel(name: string): string {
  const base = name.replace(/-preview$/, '').replace(/:.*$/, '')
  if (!CHAT_MODELS.includes(base)) throw new ApiError(404, 'No such model')
  return `${base}:${VERSION}`
}

export function embeddingDimensions(name: string): number {
  const dimensions = EMBEDDING_DIMENSIONS[name]
  if (dimensions === undefined) throw new ApiError(404, 'No such model')
  return dimensions
}
