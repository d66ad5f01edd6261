import { HttpProblem } from './http-problem.ts'
import { JsonTextError, parseJson } from './json-text.ts'

/** The JSON of a request, or undefined where there is no body. Throws HttpProblem. */
export async function jsonBody(request: Request, bytesMax: number): Promise<unknown> {
  const bytes = await bodyBytes(request, bytesMax)
  if (bytes.length === 0) return undefined
  checkContentType(request.headers.get('content-type'))
  try {
    return parseJson(decode(bytes))
  } catch (error) {
    if (!(error instanceof JsonTextError)) throw error
    const { line, column } = error
    throw new HttpProblem(400, 'JSON_INVALID', `The body is not JSON: ${error.message}.`, { details: { line, column } })
  }
}

async function bodyBytes(request: Request, bytesMax: number): Promise<Uint8Array> {
  const declared = Number(request.headers.get('content-length') ?? 0)
  if (declared > bytesMax) throw tooLarge(`${declared} bytes`, bytesMax)
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of request.body ?? []) {
    size += chunk.length
    // Leaving the loop cancels the body: what is still to come is not read.
    if (size > bytesMax) throw tooLarge(`more than ${bytesMax} bytes`, bytesMax)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks, size)
}

function tooLarge(found: string, bytesMax: number): HttpProblem {
  return new HttpProblem(
    413,
    'BODY_TOO_LARGE',
    `The body has ${found}, the limit is ${bytesMax}: store large things elsewhere and pass a reference.`,
    // No `connection: close`: the socket would break under a client that is still sending, before it has read this. The
    // listener reads the rest away, within bounds of its own, and closes what goes on beyond them.
    { details: { bytesMax } },
  )
}

/** A form can be sent across origins without asking; JSON cannot. */
function checkContentType(contentType: string | null): void {
  if (contentType !== null && /^application\/(?:[\w.-]+\+)?json *(?:;|$)/i.test(contentType)) return
  throw new HttpProblem(
    415,
    'CONTENT_TYPE_UNSUPPORTED',
    `The body is declared as ${contentType ?? 'nothing'}: send JSON with the header \`Content-Type: application/json\`.`,
  )
}

function decode(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    throw new HttpProblem(400, 'JSON_INVALID', 'The body is not UTF-8.')
  }
}
