import { createServer, type ServerOptions } from '../src/index.ts'
import { type MemoryFoothold, memoryFoothold } from './memory-foothold.ts'

export interface World {
  readonly foothold: MemoryFoothold
  readonly app: ReturnType<typeof createServer>
  readonly post: (path: string, body: unknown, headers?: Record<string, string>) => Promise<Response>
  readonly submit: () => Promise<string>
}

/** A server over a memory engine; no port, no database. */
export function setup(options: Partial<ServerOptions> = {}): World {
  const foothold = memoryFoothold()
  const app = createServer({ foothold, logger: 'silent', ...options })
  const post: World['post'] = async (path, body, headers = {}) =>
    app.request(path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    })
  return {
    foothold,
    app,
    post,
    submit: async () => (await foothold.submit('support', { text: 'Где мой заказ?' })).id,
  }
}

export async function json(response: Response): Promise<Record<string, unknown>> {
  return (await response.json()) as Record<string, unknown>
}
