import {
  FootholdError,
  type OutputOf,
  ReasonedError,
  type RetryPolicy,
  type StandardSchema,
  type StepContext,
  type TaskContext,
} from 'foothold'
import type { JsonSchema, LlmMessage, LlmModel, LlmRequest } from '../port.ts'
import { ask } from './ask.ts'
import { jsonSchemaOf } from './json-schema.ts'
import { parseStructured } from './structured.ts'
import { type UsageMeter, usageMeter } from './usage-meter.ts'

export interface GenerateLimits {
  readonly temperature?: number | undefined
  readonly maxOutputTokens?: number | undefined
  /** The longest silence between two pieces, the first included. Default 60,000. */
  readonly idleTimeoutMs?: number | undefined
  /** The whole try, however lively. Default 900,000, as long as a task by default. */
  readonly totalTimeoutMs?: number | undefined
  readonly retry?: RetryPolicy | undefined
  /** Of the step: raise it when a stored answer must not serve the new code. */
  readonly version?: number | undefined
}

export type GeneratePrompt =
  | { readonly prompt: string; readonly system?: string | undefined; readonly messages?: undefined }
  | { readonly messages: readonly LlmMessage[]; readonly system?: string | undefined; readonly prompt?: undefined }

export type GenerateTextOptions = GenerateLimits &
  GeneratePrompt & {
    readonly model: LlmModel
    /** Shows the answer to watchers as it is written, on the step's channel `text`. */
    readonly stream?: boolean | undefined
    readonly schema?: undefined
  }

export type GenerateObjectOptions<Schema extends StandardSchema> = GenerateLimits &
  GeneratePrompt & {
    readonly model: LlmModel
    /** Any Standard Schema: the answer is its output. */
    readonly schema: Schema
    /** What the model is told. Default: derived, when the schema can describe itself (zod 4, arktype). */
    readonly jsonSchema?: JsonSchema | undefined
    /** Not here: half a document is nothing to show. */
    readonly stream?: false | undefined
  }

const IDLE_TIMEOUT_MS = 60_000
const TOTAL_TIMEOUT_MS = 900_000
/** The first answer and one more with its problems told; a model that still fails then needs another try, or a person. */
const ROUNDS_MAX = 2
const ECHO_CHARACTERS_MAX = 20_000

/** A durable model call: one step, whose answer is stored once. With a schema its output, without one the text. */
export function generate<Schema extends StandardSchema>(
  task: TaskContext,
  key: string,
  options: GenerateObjectOptions<Schema>,
): Promise<OutputOf<Schema>>
export function generate(task: TaskContext, key: string, options: GenerateTextOptions): Promise<string>
export async function generate(
  task: TaskContext,
  key: string,
  options: GenerateTextOptions | GenerateObjectOptions<StandardSchema>,
): Promise<unknown> {
  const { retry, version, totalTimeoutMs = TOTAL_TIMEOUT_MS } = options
  const run = options.schema === undefined ? textRun(options) : objectRun(options)
  return task.step(
    key,
    (context) =>
      run({
        context,
        meter: usageMeter(context),
        sessionId: task.id,
        idempotencyKey: `${task.id}:${key}:${context.tries}`,
      }),
    { retry, version, timeoutMs: positive('totalTimeoutMs', totalTimeoutMs) },
  )
}

interface Try {
  readonly context: StepContext
  readonly meter: UsageMeter
  readonly sessionId: string
  readonly idempotencyKey: string
}

function textRun(options: GenerateTextOptions): (current: Try) => Promise<string> {
  const { model } = options
  // Streamed on the wire in any case: only so is silence told from work.
  const request = { ...requestOf(options), stream: true }
  const idleTimeoutMs = positive('idleTimeoutMs', options.idleTimeoutMs ?? IDLE_TIMEOUT_MS)
  return ({ context, ...current }) => {
    const onText = options.stream === true ? (text: string) => context.emit('text', text) : undefined
    return ask(model, request, { ...current, signal: context.signal, idleTimeoutMs, onText })
  }
}

function objectRun(options: GenerateObjectOptions<StandardSchema>): (current: Try) => Promise<unknown> {
  const { model, schema } = options
  if ((options.stream as boolean | undefined) === true) {
    throw invalid('stream', 'it does not go with a schema: half a document is nothing to show')
  }
  const request: LlmRequest = { ...requestOf(options), responseSchema: options.jsonSchema ?? jsonSchemaOf(schema) }
  const idleTimeoutMs = positive('idleTimeoutMs', options.idleTimeoutMs ?? IDLE_TIMEOUT_MS)
  return async ({ context, ...current }) => {
    let messages = request.messages
    for (let round = 1; ; round++) {
      const answer = await ask(
        model,
        { ...request, messages },
        { ...current, idempotencyKey: `${current.idempotencyKey}:${round}`, signal: context.signal, idleTimeoutMs },
      )
      const parsed = await parseStructured(answer, schema)
      if (parsed.kind === 'fits') return parsed.value
      if (round === ROUNDS_MAX) {
        const problems = parsed.problems.join('; ')
        throw new ReasonedError(`${model.id}: the answer does not fit the schema: ${problems}.`, {
          reason: 'llm_incomplete',
        })
      }
      messages = [...request.messages, ...correction(answer, parsed.problems)]
    }
  }
}

function correction(answer: string, problems: readonly string[]): LlmMessage[] {
  const list = problems.map((problem) => `- ${problem}`).join('\n')
  return [
    { role: 'assistant', content: answer.slice(0, ECHO_CHARACTERS_MAX) },
    {
      role: 'user',
      content: `This answer cannot be used:\n${list}\nAnswer again: one JSON document that fits the schema, nothing before or after it.`,
    },
  ]
}

function requestOf(options: GeneratePrompt & GenerateLimits): LlmRequest {
  const { system, prompt, temperature, maxOutputTokens } = options
  const messages: readonly LlmMessage[] = options.messages ?? [{ role: 'user', content: prompt as string }]
  if ((prompt === undefined) === (options.messages === undefined) || messages.length === 0) {
    throw invalid('prompt', 'give either a prompt or at least one of messages')
  }
  if (system !== undefined && messages.some((message) => message.role === 'system')) {
    throw invalid('system', 'messages already have a system message')
  }
  return {
    messages: system === undefined ? messages : [{ role: 'system', content: system }, ...messages],
    temperature,
    maxOutputTokens,
  }
}

function positive(field: string, ms: number): number {
  // setTimeout fires at once beyond 2^31 - 1.
  if (ms > 0 && ms <= 2_147_483_647) return ms
  throw invalid(field, `${ms} is not between 1 and 2147483647 milliseconds`)
}

function invalid(option: string, problem: string): FootholdError {
  return new FootholdError('INVALID_ARGUMENT', { field: `generate.${option}`, problem })
}
