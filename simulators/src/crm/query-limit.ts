/** The CRM's leaky bucket: so many calls at once, and so many a second after that. */
export class QueryLimit {
  readonly #burst: number
  readonly #perSecond: number
  #level = 0
  #leakedAt = Date.now()

  constructor(burst: number, perSecond: number) {
    this.#burst = burst
    this.#perSecond = perSecond
  }

  allows(now: number): boolean {
    this.#level = Math.max(0, this.#level - ((now - this.#leakedAt) / 1000) * this.#perSecond)
    this.#leakedAt = now
    if (this.#level + 1 > this.#burst) return false
    this.#level += 1
    return true
  }
}
