import { ApiError } from './errors.ts'

const VERSION = '2.0.28.2'

export const CHAT_MODELS = [
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

interface ModelItem {
  readonly id: string
  readonly object: 'model'
  readonly owned_by: string
  readonly type: 'chat' | 'embedder'
}

export function listModels(): { object: 'list'; data: ModelItem[] } {
  const item =
    (type: ModelItem['type']) =>
    (id: string): ModelItem => ({ id, object: 'model', owned_by: 'salutedevices', type })
  return {
    object: 'list',
    data: [...CHAT_MODELS.map(item('chat')), ...Object.keys(EMBEDDING_DIMENSIONS).map(item('embedder'))],
  }
}

export function oneModel(id: string): ModelItem {
  const found = listModels().data.find((item) => item.id === id)
  if (found === undefined) throw new ApiError(404, 'No such model')
  return found
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
