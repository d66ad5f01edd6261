// What a service received and what it committed, in one order. The ledger is the witness of the chaos tests: "done
// twice" is two commits of one key, "paid twice" is two requests of one id.

import type { WireRequest } from '../wire/request.ts'
import { Watchers } from './watchers.ts'

export type AnswerState =
  | 'pending' // still being worked on, held in a gate, or silent by a fault
  | 'answered' // sent to its end
  | 'dropped' // done, and the connection broken before the answer's first byte
  | 'cut' // broken in the middle of the answer
  | 'reset' // refused before anything was done
  | 'ended_early' // closed cleanly without the end marker
  | 'aborted' // the client went away first

export interface ReceivedEntry {
  readonly seq: number
  readonly at: string
  readonly method: string
  readonly path: string
  readonly requestId: string | null
  readonly sessionId: string | null
  readonly idempotencyKey: string | null
  readonly body: unknown
  /** The body was let go because all bodies together are bounded. */
  readonly isBodyForgotten: boolean
  readonly faults: readonly string[]
  readonly answer: {
    readonly state: AnswerState
    readonly status: number | null
    readonly bytes: number
    readonly events: number
    /** For a stream: the provider's tokens in what was sent. */
    readonly tokens: number
    readonly endedAt: string | null
  }
}

export interface CommittedEntry {
  readonly seq: number
  readonly at: string
  /** The `seq` of the request that did it. */
  readonly request: number
  readonly kind: string
  readonly key: string | null
  readonly value: unknown
}

export interface LedgerView {
  readonly received: readonly ReceivedEntry[]
  readonly committed: readonly CommittedEntry[]
  /** Entries that were let go because the ledger is bounded. */
  readonly forgotten: number
}

// A soak run of an hour makes some ten thousand requests; beyond that the memory is worth more than the past.
const ENTRIES_MAX = 50_000
const BODY_CHARACTERS_MAX = 256 * 1024
// Long prompts are what fills memory: the oldest bodies go first, their entries stay.
const BODIES_CHARACTERS_MAX = 64 * 1024 * 1024

export class Ledger {
  #received: ReceivedEntry[] = []
  #bodies: { readonly seq: number; readonly characters: number }[] = []
  #bodiesCharacters = 0
  #committed: CommittedEntry[] = []
  #forgotten = 0
  #lastSeq = 0
  readonly #watchers = new Watchers()

  receive(request: WireRequest, faults: readonly string[]): number {
    const seq = this.#nextSeq()
    this.#received.push({
      seq,
      at: new Date().toISOString(),
      method: request.method,
      path: request.path,
      requestId: request.headers['x-request-id'] ?? request.headers.rquid ?? null,
      sessionId: request.headers['x-session-id'] ?? null,
      idempotencyKey: request.headers['idempotency-key'] ?? null,
      body: bodyToKeep(request),
      isBodyForgotten: false,
      faults,
      answer: { state: 'pending', status: null, bytes: 0, events: 0, tokens: 0, endedAt: null },
    })
    this.#forgotten += keepLast(this.#received)
    this.#keepBodies(seq, Math.min(request.text.length, BODY_CHARACTERS_MAX))
    this.#watchers.changed()
    return seq
  }

  commit(request: number, kind: string, key: string | null, value: unknown): void {
    this.#committed.push({ seq: this.#nextSeq(), at: new Date().toISOString(), request, kind, key, value })
    this.#forgotten += keepLast(this.#committed)
    this.#watchers.changed()
  }

  answer(request: number, change: Partial<Omit<ReceivedEntry['answer'], 'endedAt'>>): void {
    const index = this.#received.findLastIndex((entry) => entry.seq === request)
    const entry = this.#received[index]
    if (entry === undefined) return
    const isEnd = change.state !== undefined && change.state !== 'pending'
    const endedAt = isEnd ? new Date().toISOString() : entry.answer.endedAt
    this.#received[index] = { ...entry, answer: { ...entry.answer, ...change, endedAt } }
    this.#watchers.changed()
  }

  view(afterSeq = 0): LedgerView {
    const isAfter = (entry: { seq: number }): boolean => entry.seq > afterSeq
    return {
      received: this.#received.filter(isAfter),
      committed: this.#committed.filter(isAfter),
      forgotten: this.#forgotten,
    }
  }

  clear(): void {
    this.#received = []
    this.#bodies = []
    this.#bodiesCharacters = 0
    this.#committed = []
    this.#forgotten = 0
    this.#watchers.changed()
  }

  /** Resolves when so much is in the ledger, or at the deadline. Ended counts the requests that are not pending. */
  async waitFor(least: { received: number; committed: number; ended: number }, timeoutMs: number): Promise<LedgerView> {
    await this.#watchers.until(
      () =>
        this.#received.length >= least.received &&
        this.#committed.length >= least.committed &&
        (least.ended === 0 || this.#received.filter(({ answer }) => answer.endedAt !== null).length >= least.ended),
      timeoutMs,
    )
    return this.view()
  }

  #keepBodies(seq: number, characters: number): void {
    this.#bodies.push({ seq, characters })
    this.#bodiesCharacters += characters
    while (this.#bodiesCharacters > BODIES_CHARACTERS_MAX) {
      const oldest = this.#bodies.shift()
      if (oldest === undefined) return
      this.#bodiesCharacters -= oldest.characters
      const index = this.#received.findIndex((entry) => entry.seq === oldest.seq)
      const entry = this.#received[index]
      if (entry !== undefined) this.#received[index] = { ...entry, body: null, isBodyForgotten: true }
    }
  }

  #nextSeq(): number {
    this.#lastSeq += 1
    return this.#lastSeq
  }
}

function keepLast(entries: unknown[]): number {
  const over = entries.length - ENTRIES_MAX
  if (over <= 0) return 0
  entries.splice(0, over)
  return over
}

function bodyToKeep(request: WireRequest): unknown {
  if (request.text.length > BODY_CHARACTERS_MAX) return request.text.slice(0, BODY_CHARACTERS_MAX)
  const { body } = request
  if (body.kind === 'json' || body.kind === 'form') return body.value
  return body.kind === 'broken' ? request.text : null
}
