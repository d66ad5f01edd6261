import { z } from 'zod'
import type { WireRequest } from '../wire/request.ts'
import { ApiError } from './errors.ts'

const functionCall = z.looseObject({ name: z.string(), arguments: z.record(z.string(), z.unknown()) })

const message = z.looseObject({
  role: z.enum(['system', 'user', 'assistant', 'function']),
  content: z.string().default(''),
  name: z.string().optional(),
  function_call: functionCall.optional(),
  functions_state_id: z.string().optional(),
})

const functionDescription = z.looseObject({
  name: z.string().regex(/^[A-Za-z_][\w-]*$/),
  description: z.string().optional(),
  parameters: z.record(z.string(), z.unknown()).optional(),
})

const chatRequest = z.looseObject({
  model: z.string(),
  messages: z.array(message).min(1),
  functions: z.array(functionDescription).optional(),
  function_call: z.union([z.enum(['auto', 'none']), z.looseObject({ name: z.string() })]).optional(),
  response_format: z
    .discriminatedUnion('type', [
      z.looseObject({ type: z.literal('text') }),
      z.looseObject({
        type: z.literal('json_schema'),
        schema: z.record(z.string(), z.unknown()),
        strict: z.boolean().optional(),
      }),
    ])
    .optional(),
  temperature: z.number().min(0).optional(),
  max_tokens: z.number().int().min(1).optional(),
  stream: z.boolean().optional(),
})

export type ChatRequest = z.output<typeof chatRequest>
export type ChatMessage = z.output<typeof message>
export type FunctionDescription = z.output<typeof functionDescription>

export function readChatRequest({ body }: WireRequest): ChatRequest {
  if (body.kind !== 'json') throw new ApiError(400, 'Invalid request: body is not JSON')
  const parsed = chatRequest.safeParse(body.value)
  if (!parsed.success) throw new ApiError(422, `Invalid params: ${firstProblem(parsed.error)}`)
  const request = parsed.data
  const isSystem = ({ role }: ChatMessage): boolean => role === 'system'
  if (request.messages.slice(1).some(isSystem)) {
    throw new ApiError(422, 'Invalid params: system message must be the first message')
  }
  for (const one of request.messages) {
    if (one.role === 'function') checkFunctionResult(one)
  }
  return request
}

function checkFunctionResult({ content, name }: ChatMessage): void {
  if (name === undefined) throw new ApiError(422, 'Invalid params: function message must have a name')
  try {
    JSON.parse(content)
  } catch {
    throw new ApiError(422, 'Invalid params: content of a function message must be valid JSON')
  }
}

function firstProblem(error: z.ZodError): string {
  const issue = error.issues[0]
  return issue === undefined ? 'unknown' : `${issue.path.join('.')}: ${issue.message}`
}
