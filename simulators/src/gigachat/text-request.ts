import { z } from 'zod'
import type { WireRequest } from '../wire/request.ts'
import { ApiError } from './errors.ts'

const texts = z.array(z.string()).min(1)
const embeddingsRequest = z.looseObject({
  model: z.string(),
  input: z.union([texts, z.string().transform((one) => [one])]),
})
const tokensRequest = z.looseObject({ model: z.string().default('GigaChat'), input: texts })

export function readEmbeddingsRequest(request: WireRequest): z.output<typeof embeddingsRequest> {
  return read(embeddingsRequest, request)
}

export function readTokensRequest(request: WireRequest): z.output<typeof tokensRequest> {
  return read(tokensRequest, request)
}

function read<Schema extends z.ZodType>(schema: Schema, { body }: WireRequest): z.output<Schema> {
  if (body.kind !== 'json') throw new ApiError(400, 'Invalid request: body is not JSON')
  const parsed = schema.safeParse(body.value)
  if (parsed.success) return parsed.data
  const issue = parsed.error.issues[0]
  throw new ApiError(422, `Invalid params: ${issue?.path.join('.') ?? ''}: ${issue?.message ?? 'unknown'}`)
}
