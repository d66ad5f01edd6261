import { randomUUID } from 'node:crypto'

/** A caller's own id is kept where it is plain enough for a header and a log line. */
export function requestIdOf(request: Request): string {
  const given = request.headers.get('x-request-id')
  return given !== null && /^[\w.:-]{1,128}$/.test(given) ? given : randomUUID()
}
