import type { ChatMessage } from './chat-request.ts'
import { countTokens } from './tokens.ts'

// Sessions whose last prompt is remembered; the oldest is let go.
const SESSIONS_MAX = 1000

/** A session's next prompt that begins as the last one did is partly precached: X-Session-ID pays off. */
export class PromptCache {
  readonly #lastPrompt = new Map<string, readonly string[]>()

  /** The tokens of the leading messages that the session's last prompt had too. */
  precachedTokens(sessionId: string | undefined, messages: readonly ChatMessage[]): number {
    if (sessionId === undefined) return 0
    const prompt = messages.map((message) => `${message.role}:${message.content}`)
    const last = this.#lastPrompt.get(sessionId) ?? []
    this.#lastPrompt.delete(sessionId)
    this.#lastPrompt.set(sessionId, prompt)
    for (const oldest of this.#lastPrompt.keys()) {
      if (this.#lastPrompt.size <= SESSIONS_MAX) break
      this.#lastPrompt.delete(oldest)
    }
    let tokens = 0
    for (const [index, message] of messages.entries()) {
      if (last[index] !== prompt[index]) break
      tokens += countTokens(message.content)
    }
    return tokens
  }
}
