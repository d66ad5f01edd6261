import { ApiError } from './errors.ts'

/** The account's prepaid tokens, one sum for each model as the real service sells them. */
export class Balance {
  readonly #spent = new Map<string, number>()

  /** Refuses when nothing is left; the last request may go below zero, as with the real service. */
  check(model: string, tokensLeft: number): void {
    if (this.#left(model, tokensLeft) <= 0) throw new ApiError(402, 'Payment Required')
  }

  spend(model: string, tokens: number): void {
    this.#spent.set(model, (this.#spent.get(model) ?? 0) + tokens)
  }

  view(models: readonly string[], tokensLeft: number): { balance: { usage: string; value: number }[] } {
    return { balance: models.map((usage) => ({ usage, value: Math.max(0, this.#left(usage, tokensLeft)) })) }
  }

  /** The next look finds the whole sum again. */
  refill(): void {
    this.#spent.clear()
  }

  #left(model: string, tokensLeft: number): number {
    return tokensLeft - (this.#spent.get(model) ?? 0)
  }
}
