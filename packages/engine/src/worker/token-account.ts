import type { Usage } from '../protocol/task-context.ts'

/**
 * What the model calls of one try cost. A try says the sum so far, again and again, and may say more after it was given
 * up: a call that was cut off still tells what it had burned.
 */
export interface TokenAccount {
  readonly usage: Usage | null
  record(usage: Usage): void
  /** Counts what was said; what is said from now on is wasted. */
  close(fate: 'kept' | 'wasted'): void
}

export function openTokenAccount(count: (usage: Usage, fate: 'kept' | 'wasted') => void): TokenAccount {
  let said: Usage | null = null
  let counted: Pick<Usage, 'inputTokens' | 'outputTokens'> = { inputTokens: 0, outputTokens: 0 }
  let isClosed = false

  function countNew(fate: 'kept' | 'wasted'): void {
    if (said === null) return
    const inputTokens = said.inputTokens - counted.inputTokens
    const outputTokens = said.outputTokens - counted.outputTokens
    counted = said
    count({ ...said, inputTokens, outputTokens }, fate)
  }

  return {
    get usage() {
      return said
    },
    record(usage) {
      said = usage
      if (isClosed) countNew('wasted')
    },
    close(fate) {
      isClosed = true
      countNew(fate)
    },
  }
}
