import { ReasonedError } from 'foothold'
import type { LlmModel, LlmRequest } from '../port.ts'
import { withSilenceLimit } from './silence-limit.ts'
import { estimatedUsage, type UsageMeter } from './usage-meter.ts'

export interface AskOptions {
  readonly signal: AbortSignal
  readonly idleTimeoutMs: number
  readonly idempotencyKey: string
  readonly sessionId: string
  readonly meter: UsageMeter
  /** Called with each piece as it comes. */
  readonly onText?: ((text: string) => void) | undefined
}

/** One call of the model, to its whole text. Its tokens are metered however it ends. */
export async function ask(model: LlmModel, request: LlmRequest, options: AskOptions): Promise<string> {
  const { signal, idleTimeoutMs, idempotencyKey, sessionId, meter } = options
  const open = (inner: AbortSignal) => model.stream(request, { signal: inner, idempotencyKey, sessionId })
  let text = ''
  let outputCharacters = 0
  let usage: { inputTokens: number; outputTokens: number } | null = null
  let finishedBy: string | null = null
  let calledFunction: string | null = null
  let mayHaveCost = false
  const noteCost = (): void => {
    mayHaveCost = true
  }
  try {
    for await (const event of withSilenceLimit(open, {
      signal,
      idleTimeoutMs,
      modelId: model.id,
      onSilence: noteCost,
    })) {
      noteCost()
      switch (event.type) {
        case 'text':
          text += event.text
          outputCharacters += event.text.length
          options.onText?.(event.text)
          break
        case 'reasoning':
          outputCharacters += event.text.length
          break
        case 'function_call':
          calledFunction = event.name
          break
        case 'usage':
          usage = event
          break
        case 'finish':
          finishedBy = event.model
          break
      }
    }
  } finally {
    if (usage !== null) {
      const { inputTokens, outputTokens } = usage
      meter.add({ model: finishedBy ?? model.id, inputTokens, outputTokens })
    } else if (mayHaveCost || signal.aborted) {
      // Only a refusal before the first word surely cost nothing.
      meter.add(estimatedUsage(finishedBy ?? model.id, request.messages, outputCharacters))
    }
  }
  if (finishedBy === null) throw incomplete(model, 'the stream ended without a finish: half an answer is none')
  if (calledFunction !== null) throw incomplete(model, `it called the function ${calledFunction}, none was offered`)
  if (text.trim() === '') throw incomplete(model, 'the answer was empty')
  return text
}

function incomplete(model: LlmModel, what: string): ReasonedError {
  return new ReasonedError(`${model.id}: ${what}.`, { reason: 'llm_incomplete' })
}
