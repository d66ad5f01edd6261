import type { LlmMessage, LlmRequest } from '../port.ts'

/** The body of POST /chat/completions, version 1 of the API: there `tools` are silently ignored, `functions` are not. */
export function chatRequest(model: string, request: LlmRequest): Record<string, unknown> {
  const { functions, functionCall, responseSchema } = request
  return withoutUndefined({
    model,
    messages: request.messages.map(chatMessage),
    stream: request.stream === true,
    functions: functions?.map(({ name, description, parameters }) =>
      withoutUndefined({ name, description, parameters }),
    ),
    function_call: functionCall ?? (functions === undefined ? undefined : 'auto'),
    response_format:
      responseSchema === undefined ? undefined : { type: 'json_schema', schema: responseSchema, strict: true },
    temperature: request.temperature,
    max_tokens: request.maxOutputTokens,
  })
}

function chatMessage(message: LlmMessage): Record<string, unknown> {
  if (message.role !== 'assistant') return { ...message }
  const { role, content, functionCall, stateId } = message
  return withoutUndefined({ role, content, function_call: functionCall, functions_state_id: stateId })
}

function withoutUndefined(fields: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))
}
