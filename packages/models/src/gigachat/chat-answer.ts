import { ReasonedError, TerminalError } from 'foothold'
import type { LlmEvent } from '../port.ts'
import { parseJson } from '../wire/json.ts'

/**
 * Puts one answer together, whether it came whole or in pieces, and judges its end. Knows no network: pieces in, events
 * out. The judgement is the port's promise: `finish` only for a whole answer.
 */
export interface ChatAnswer {
  /** One event of the stream, or the whole answer of a call without one. */
  add(piece: unknown): LlmEvent[]
  /** True from the finish reason on: what comes later is a formality. */
  readonly isFinished: boolean
  usage(): LlmEvent[]
  /** The last events of a whole answer; throws for every other end. */
  end(): LlmEvent[]
}

interface Choice {
  readonly delta?: Part | null
  readonly message?: Part | null
  readonly finish_reason?: string | null
}
interface Part {
  readonly role?: string
  readonly content?: string | null
  readonly reasoning_content?: string | null
  readonly function_call?: { readonly name?: unknown; readonly arguments?: unknown } | null
  readonly functions_state_id?: string | null
}
interface Piece {
  readonly choices?: readonly Choice[]
  readonly model?: string
  readonly usage?: { readonly prompt_tokens?: unknown; readonly completion_tokens?: unknown } | null
}

export function chatAnswer(requestedModel: string): ChatAnswer {
  let model = requestedModel
  let usage: Piece['usage'] = null
  let finishReason: string | null = null
  let hasText = false
  let call: Part['function_call'] = null
  let stateId: string | null = null

  function addPart(part: Part): LlmEvent[] {
    call = part.function_call ?? call
    stateId = part.functions_state_id ?? stateId
    const text = part.content ?? ''
    const reasoning = part.reasoning_content ?? ''
    // The provider runs a function of its own: nothing to read, but it lives.
    if (part.role === 'function_in_progress') return [{ type: 'reasoning', text }]
    if (text.trim() !== '') hasText = true
    return [
      ...(reasoning === '' ? [] : [{ type: 'reasoning', text: reasoning } as const]),
      ...(text === '' ? [] : [{ type: 'text', text } as const]),
    ]
  }

  return {
    get isFinished() {
      return finishReason !== null
    },
    add(raw) {
      const piece = asPiece(raw)
      model = piece.model ?? model
      usage = piece.usage ?? usage
      const choice = piece.choices?.[0]
      finishReason = choice?.finish_reason ?? finishReason
      const part = choice?.delta ?? choice?.message
      return part == null ? [] : addPart(part)
    },
    usage() {
      const inputTokens = usage?.prompt_tokens
      const outputTokens = usage?.completion_tokens
      if (!isCount(inputTokens) || !isCount(outputTokens)) return []
      return [{ type: 'usage', inputTokens, outputTokens, raw: usage }]
    },
    end() {
      if (finishReason === null) throw incomplete('the stream ended without a finish reason: half an answer is none')
      if (finishReason === 'length') throw incomplete('the answer reached the limit of tokens before its end')
      if (finishReason === 'error') throw incomplete('the model called a function with invalid arguments')
      if (finishReason === 'blacklist') {
        throw new TerminalError('GigaChat refused the topic of this conversation (finish reason "blacklist").', {
          reason: 'llm_refused',
        })
      }
      if (call != null) {
        return [functionCall(call, stateId), { type: 'finish', reason: 'function_call', model }]
      }
      if (finishReason !== 'stop')
        throw incomplete(`the finish reason was ${JSON.stringify(finishReason.slice(0, 40))}`)
      if (!hasText) throw incomplete('the answer was empty')
      return [{ type: 'finish', reason: 'stop', model }]
    },
  }
}

function functionCall(call: NonNullable<Part['function_call']>, stateId: string | null): LlmEvent {
  if (typeof call.name !== 'string' || call.name === '') throw incomplete('the function call had no name')
  return { type: 'function_call', name: call.name, arguments: functionArguments(call.arguments), stateId }
}

/** An object by the documentation; text of JSON through gateways that translate from other providers. */
function functionArguments(value: unknown): unknown {
  if (typeof value !== 'string') return value ?? {}
  try {
    return value.trim() === '' ? {} : parseJson(value)
  } catch {
    throw incomplete('the arguments of the function call were not JSON')
  }
}

function asPiece(raw: unknown): Piece {
  if (typeof raw === 'object' && raw !== null && !Array.isArray(raw)) return raw
  throw incomplete('an event was not a JSON object')
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0
}

export function incomplete(what: string): ReasonedError {
  return new ReasonedError(`GigaChat: ${what}.`, { reason: 'llm_incomplete' })
}
