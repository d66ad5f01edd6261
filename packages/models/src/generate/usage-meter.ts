import type { StepContext, Usage } from 'foothold'
import type { LlmMessage } from '../port.ts'

/** Between Russian (about 3) and English (about 4) text; an estimate is marked as one. */
const CHARACTERS_PER_TOKEN = 3.5

/** Sums up the calls of one try and tells the step at once: what was burned counts also when the try fails next. */
export interface UsageMeter {
  add(usage: Usage): void
}

export function usageMeter(context: Pick<StepContext, 'recordUsage'>): UsageMeter {
  let sum: Usage | null = null
  return {
    add(usage) {
      sum = {
        model: usage.model,
        inputTokens: (sum?.inputTokens ?? 0) + usage.inputTokens,
        outputTokens: (sum?.outputTokens ?? 0) + usage.outputTokens,
        isEstimated: sum?.isEstimated === true || usage.isEstimated === true,
      }
      context.recordUsage(sum)
    },
  }
}

export function estimatedUsage(model: string, messages: readonly LlmMessage[], outputCharacters: number): Usage {
  const inputCharacters = messages.reduce((sum, message) => sum + message.content.length, 0)
  return {
    model,
    inputTokens: Math.ceil(inputCharacters / CHARACTERS_PER_TOKEN),
    outputTokens: Math.ceil(outputCharacters / CHARACTERS_PER_TOKEN),
    isEstimated: true,
  }
}
