// From what the model says to what the wire carries: one document, or a stream of events whose last carries the usage.

import type { FaultPlan } from '../control/faults.ts'
import { jsonAnswer, type WireAnswer, type WireEvent } from '../wire/answer.ts'
import { stringifyJson } from '../wire/lossless-json.ts'
import type { Utterance } from './model/utterance.ts'
import { countTokens, TokenCounter } from './tokens.ts'

export interface Completion {
  readonly text: string
  readonly functionCall: { readonly name: string; readonly arguments: Readonly<Record<string, unknown>> } | null
  readonly functionsStateId: string | null
  readonly finishReason: string
}

export interface Usage {
  readonly prompt_tokens: number
  readonly completion_tokens: number
  readonly total_tokens: number
  readonly precached_prompt_tokens: number
}

const BLACKLIST_TEXT = 'Не могу говорить об этом. Давайте сменим тему?'

export function completionOf(utterance: Utterance, maxTokens: number | undefined, faults: FaultPlan): Completion {
  const reason = faults.finish_reason?.value
  const replaced = faults.content?.text ?? (reason === 'blacklist' ? BLACKLIST_TEXT : undefined)
  if (replaced !== undefined) return plainText(replaced, reason ?? 'stop')
  if (utterance.kind === 'function_call') {
    const { name, arguments: given } = utterance
    const functionCall = { name, arguments: given }
    const functionsStateId = crypto.randomUUID()
    return { text: '', functionCall, functionsStateId, finishReason: reason ?? 'function_call' }
  }
  if (reason === 'length')
    return plainText(firstTokens(utterance.text, Math.floor(countTokens(utterance.text) / 2)), reason)
  const limited = maxTokens === undefined ? utterance.text : firstTokens(utterance.text, maxTokens)
  return plainText(limited, reason ?? (limited === utterance.text ? 'stop' : 'length'))
}

export function usageOf(completion: Completion, promptTokens: number, precachedTokens: number): Usage {
  const said = completion.functionCall === null ? completion.text : stringifyJson(completion.functionCall)
  const completionTokens = countTokens(said)
  return {
    prompt_tokens: promptTokens,
    completion_tokens: completionTokens,
    total_tokens: promptTokens + completionTokens,
    precached_prompt_tokens: precachedTokens,
  }
}

export function wholeAnswer(
  completion: Completion,
  model: string,
  usage: Usage,
  headers: Record<string, string>,
): WireAnswer {
  const message = { content: completion.text, role: 'assistant', ...functionPart(completion) }
  return jsonAnswer(
    200,
    {
      choices: [{ message, index: 0, finish_reason: completion.finishReason }],
      created: Math.floor(Date.now() / 1000),
      model,
      object: 'chat.completion',
      usage,
    },
    headers,
  )
}

export function streamAnswer(
  completion: Completion,
  model: string,
  usage: Usage,
  { headers, pauseMs }: { headers: Record<string, string>; pauseMs: number },
): WireAnswer {
  const created = Math.floor(Date.now() / 1000)
  const data = (choice: Record<string, unknown>, rest: Record<string, unknown> = {}): string =>
    stringifyJson({ choices: [{ ...choice, index: 0 }], created, model, object: 'chat.completion', ...rest })
  const counter = new TokenCounter()
  const deltas = chunksOf(completion).map((delta, index): WireEvent => {
    const first = index === 0 ? { role: 'assistant' } : {}
    return { role: 'delta', data: data({ delta: { ...delta, ...first } }), tokensSoFar: counter.add(delta.content) }
  })
  const finish = data({ delta: { content: '' }, finish_reason: completion.finishReason }, { usage })
  return {
    kind: 'events',
    headers,
    pauseMs,
    events: [
      ...deltas,
      { role: 'finish', data: finish, tokensSoFar: usage.completion_tokens },
      { role: 'end', data: '[DONE]' },
    ],
  }
}

const WORDS_PER_CHUNK = 3

function chunksOf(completion: Completion): { content: string }[] {
  if (completion.functionCall !== null) return [{ content: '', ...functionPart(completion) }]
  const words = completion.text.match(/\s*\S+\s*/g) ?? (completion.text === '' ? [] : [completion.text])
  const chunks: { content: string }[] = []
  for (let at = 0; at < words.length; at += WORDS_PER_CHUNK) {
    chunks.push({ content: words.slice(at, at + WORDS_PER_CHUNK).join('') })
  }
  return chunks
}

function functionPart({ functionCall, functionsStateId }: Completion): Record<string, unknown> {
  if (functionCall === null) return {}
  return { function_call: functionCall, functions_state_id: functionsStateId }
}

function plainText(text: string, finishReason: string): Completion {
  return { text, functionCall: null, functionsStateId: null, finishReason }
}

function firstTokens(text: string, max: number): string {
  if (countTokens(text) <= max) return text
  const counter = new TokenCounter()
  let kept = ''
  for (const character of text) {
    if (counter.add(character) > max) break
    kept += character
  }
  return kept
}
