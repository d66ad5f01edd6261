/** Telegram's limit per chat: so many messages in any second, and then how long to wait. */
export class SendRate {
  readonly #perSecond: number
  readonly #sentAt = new Map<string, number[]>()

  constructor(perSecond: number) {
    this.#perSecond = perSecond
  }

  /** Null when the message may go, else the seconds to wait. */
  retryAfter(chatId: string, now: number): number | null {
    const recent = (this.#sentAt.get(chatId) ?? []).filter((at) => now - at < 1000)
    if (recent.length >= this.#perSecond) return Math.max(1, Math.ceil((1000 - (now - (recent[0] ?? now))) / 1000))
    this.#sentAt.set(chatId, [...recent, now])
    return null
  }
}
