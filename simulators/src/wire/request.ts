import type { IncomingMessage } from 'node:http'
import { parseJson } from './lossless-json.ts'

/** What a service does with a body depends on its kind, so a broken one is a value and not an exception. */
type WireBody =
  | { readonly kind: 'none' }
  | { readonly kind: 'json'; readonly value: unknown }
  | { readonly kind: 'form'; readonly value: Readonly<Record<string, string>> }
  | { readonly kind: 'broken'; readonly problem: string }

export interface WireRequest {
  readonly method: string
  readonly path: string
  readonly query: URLSearchParams
  readonly headers: Readonly<Record<string, string>>
  readonly text: string
  readonly body: WireBody
}

// GigaChat itself refuses requests of 80 MB; nothing that a test sends is near that, and memory here is shared.
const BODY_BYTES_MAX = 20 * 1024 * 1024

export async function readRequest(incoming: IncomingMessage): Promise<WireRequest | 'too_large' | 'broken_off'> {
  const chunks: Buffer[] = []
  let size = 0
  try {
    for await (const chunk of incoming as AsyncIterable<Buffer>) {
      size += chunk.length
      if (size > BODY_BYTES_MAX) return 'too_large'
      chunks.push(chunk)
    }
  } catch {
    // The client went away before it had said what it wants.
    return 'broken_off'
  }
  const text = Buffer.concat(chunks).toString('utf8')
  const url = new URL(incoming.url ?? '/', 'http://simulator')
  const headers: Record<string, string> = {}
  for (const [name, value] of Object.entries(incoming.headers)) {
    if (value !== undefined) headers[name] = Array.isArray(value) ? value.join(', ') : value
  }
  return {
    method: incoming.method ?? 'GET',
    path: decodePath(url.pathname),
    query: url.searchParams,
    headers,
    text,
    body: parseBody(text, headers['content-type'] ?? ''),
  }
}

function parseBody(text: string, contentType: string): WireBody {
  if (text === '') return { kind: 'none' }
  if (contentType.includes('application/x-www-form-urlencoded')) {
    return { kind: 'form', value: Object.fromEntries(new URLSearchParams(text)) }
  }
  try {
    return { kind: 'json', value: parseJson(text) }
  } catch (error) {
    return { kind: 'broken', problem: error instanceof Error ? error.message : 'not JSON' }
  }
}

function decodePath(path: string): string {
  try {
    return decodeURIComponent(path)
  } catch {
    return path
  }
}
