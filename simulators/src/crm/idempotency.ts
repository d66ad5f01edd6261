import { createHash } from 'node:crypto'
import { stringifyJson } from '../wire/lossless-json.ts'
import { CrmError } from './errors.ts'
import type { Outcome } from './methods.ts'

/** The gateway's memory of Idempotency-Key: the same key gets the same answer, with another body it is refused. */
export class IdempotencyKeys {
  readonly #answers = new Map<string, { readonly bodyHash: string; readonly outcome: Outcome }>()

  run(key: string, body: unknown, act: () => Outcome): { outcome: Outcome; isReplay: boolean } {
    const bodyHash = createHash('sha256')
      .update(stringifyJson(inKeyOrder(body)))
      .digest('hex')
    const known = this.#answers.get(key)
    if (known !== undefined) {
      if (known.bodyHash === bodyHash) return { outcome: known.outcome, isReplay: true }
      throw new CrmError(422, 'IDEMPOTENCY_KEY_REUSED', 'This Idempotency-Key was used with another request body')
    }
    const outcome = act()
    this.#answers.set(key, { bodyHash, outcome })
    return { outcome, isReplay: false }
  }

  clear(): void {
    this.#answers.clear()
  }
}

function inKeyOrder(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(inKeyOrder)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, item]) => [key, inKeyOrder(item)]),
  )
}
