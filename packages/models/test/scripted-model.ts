import type { LlmCallOptions, LlmEvent, LlmModel, LlmRequest } from '../src/port.ts'

export type Script = (signal: AbortSignal) => AsyncIterable<LlmEvent>

/** A model that follows one script for each call, and remembers what it was asked. */
export interface ScriptedModel extends LlmModel {
  readonly requests: readonly LlmRequest[]
  readonly calls: readonly LlmCallOptions[]
}

export function scriptedModel(...scripts: readonly (Script | readonly string[])[]): ScriptedModel {
  const requests: LlmRequest[] = []
  const calls: LlmCallOptions[] = []
  return {
    id: 'scripted',
    provider: 'test',
    requests,
    calls,
    stream(request, options) {
      const script = scripts[requests.length]
      requests.push(request)
      calls.push(options)
      if (script === undefined) throw new Error(`no script for call ${requests.length}`)
      return typeof script === 'function' ? script(options.signal) : says(...script)
    },
  }
}

export async function* says(...texts: readonly string[]): AsyncGenerator<LlmEvent> {
  for (const text of texts) yield { type: 'text', text }
  yield { type: 'usage', inputTokens: 10, outputTokens: 5, raw: null }
  yield { type: 'finish', reason: 'stop', model: 'scripted:1' }
}

/** Settles only by the abort, as a silent socket does. */
export function untilAbort(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true })
  })
}
