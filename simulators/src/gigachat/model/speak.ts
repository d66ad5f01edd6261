import type { ChatRequest } from '../chat-request.ts'
import { answerText } from './answer.ts'
import { documentFor } from './document.ts'
import { planCalls } from './plan.ts'
import { type Prompt, readPrompt } from './prompt.ts'
import { type Reading, readRequest } from './reading.ts'
import type { Utterance } from './utterance.ts'

/** What the model answers: nothing is learnt or random, the same prompt gives the same answer. */
export function speak(chat: ChatRequest): Utterance {
  const prompt = readPrompt(chat)
  const reading = readRequest(prompt)
  if (chat.response_format?.type === 'json_schema') {
    return { kind: 'text', text: JSON.stringify(documentFor(chat.response_format.schema, prompt, reading)) }
  }
  return nextCall(chat, prompt, reading) ?? { kind: 'text', text: answerText(prompt, reading) }
}

/** The API calls one function at a time; those that have a result are behind us. */
function nextCall(chat: ChatRequest, prompt: Prompt, reading: Reading): Utterance | null {
  const { functions = [], function_call: wanted = 'auto' } = chat
  if (functions.length === 0 || wanted === 'none') return null
  const offered = typeof wanted === 'object' ? functions.filter(({ name }) => name === wanted.name) : functions
  const planned = planCalls({ ...prompt, functions: offered }, reading)
  const isDone = (name: string, given: object): boolean =>
    prompt.toolResults.some(
      (result) => result.name === name && JSON.stringify(result.arguments) === JSON.stringify(given),
    )
  const next = planned.find((call) => !isDone(call.name, call.arguments))
  return next === undefined ? null : { kind: 'function_call', name: next.name, arguments: next.arguments }
}
