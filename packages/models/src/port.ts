/**
 * What a language model is to Foothold: narrow on purpose, so that any provider fits and none shows through.
 *
 * The contract of `stream`:
 * 1. It ends only after `finish`, and `finish` means that the answer is whole. A cut, a length limit, a filter or an
 *    empty answer throws instead, as RetryError, ReasonedError or TerminalError with an `llm_…` reason.
 * 2. `usage` comes before `finish`, and before the error where the provider still said it.
 * 3. An abort, and leaving the loop early, close the request at once: nobody pays for tokens that nobody reads.
 * 4. One call is one request. Retries belong to the step that calls.
 */
export interface LlmModel {
  readonly id: string
  readonly provider: string
  stream(request: LlmRequest, options: LlmCallOptions): AsyncIterable<LlmEvent>
}

export interface LlmCallOptions {
  readonly signal: AbortSignal
  /** For providers that keep idempotency keys; the others ignore it. */
  readonly idempotencyKey?: string | undefined
  /** The same for all calls of one task: providers find their prompt cache by it. */
  readonly sessionId?: string | undefined
}

export interface LlmRequest {
  readonly messages: readonly LlmMessage[]
  readonly functions?: readonly LlmFunction[] | undefined
  /** Default: the model decides whenever functions are given. */
  readonly functionCall?: 'auto' | 'none' | { readonly name: string } | undefined
  /** Asks for one JSON document of this shape instead of free text. */
  readonly responseSchema?: JsonSchema | undefined
  readonly temperature?: number | undefined
  readonly maxOutputTokens?: number | undefined
  /** Text arrives piece by piece while it is written. Default false: in one event at the end. */
  readonly stream?: boolean | undefined
}

/** A JSON Schema document. Not spelled out: schema libraries' own types for it disagree. */
export type JsonSchema = object

export interface LlmFunction {
  readonly name: string
  readonly description?: string | undefined
  readonly parameters: JsonSchema
}

export type LlmMessage =
  | { readonly role: 'system'; readonly content: string }
  | { readonly role: 'user'; readonly content: string }
  | {
      readonly role: 'assistant'
      readonly content: string
      readonly functionCall?: { readonly name: string; readonly arguments: unknown } | undefined
      /** From the `function_call` event; the provider misbehaves in later turns without it. */
      readonly stateId?: string | undefined
    }
  /** A function's result, as JSON text. */
  | { readonly role: 'function'; readonly name: string; readonly content: string }

export type LlmEvent =
  | { readonly type: 'text'; readonly text: string }
  /** Not part of the answer, but a sign of life. May be empty. */
  | { readonly type: 'reasoning'; readonly text: string }
  /** Whole numbers beyond 2^53 in the arguments are strings of their digits. */
  | {
      readonly type: 'function_call'
      readonly name: string
      readonly arguments: unknown
      readonly stateId: string | null
    }
  /** `raw`: the provider's own block, for whoever checks the bill. */
  | { readonly type: 'usage'; readonly inputTokens: number; readonly outputTokens: number; readonly raw: unknown }
  /** `model`: the exact version that answered. */
  | { readonly type: 'finish'; readonly reason: 'stop' | 'function_call'; readonly model: string }

export interface EmbeddingModel {
  readonly id: string
  readonly dimensions: number
  /** One vector for each text, in their order. Not normalised. */
  embed(texts: readonly string[], options: { readonly signal: AbortSignal }): Promise<number[][]>
}
