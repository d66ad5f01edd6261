import { z } from 'zod'
import { stringifyJson } from '../wire/lossless-json.ts'
import type { WireRequest } from '../wire/request.ts'

/** Which requests a fault or a gate is for; what is left out matches everything. */
export const requestMatch = z.strictObject({
  /** A part of the path, for example "chat/completions". */
  path: z.string().optional(),
  method: z.string().optional(),
  /** A part of the body as it was sent, or of its JSON with escapes resolved. */
  contains: z.string().optional(),
  header: z.strictObject({ name: z.string(), value: z.string().optional() }).optional(),
})

export type RequestMatch = z.input<typeof requestMatch>

export function matches(match: RequestMatch, request: WireRequest): boolean {
  return (
    (match.path === undefined || request.path.includes(match.path)) &&
    (match.method === undefined || request.method === match.method.toUpperCase()) &&
    (match.contains === undefined || bodyContains(request, match.contains)) &&
    (match.header === undefined || headerMatches(request, match.header))
  )
}

// Clients may send Cyrillic as \u escapes, so the decoded body is looked at as well.
function bodyContains(request: WireRequest, part: string): boolean {
  if (request.text.includes(part)) return true
  return request.body.kind === 'json' && stringifyJson(request.body.value).includes(part)
}

function headerMatches(request: WireRequest, header: NonNullable<RequestMatch['header']>): boolean {
  const sent = request.headers[header.name.toLowerCase()]
  return sent !== undefined && (header.value === undefined || sent.includes(header.value))
}
