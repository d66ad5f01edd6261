import { z } from 'zod'
import type { WireRequest } from '../wire/request.ts'
import { matches, requestMatch } from './matching.ts'

const count = z.number().int().min(0)

/** What can go wrong with one request. Several faults, in one rule or in several, may act on the same request. */
const fault = z.discriminatedUnion('kind', [
  /** The service answers this instead of doing what it was asked. A body that is not a string is sent as JSON. */
  z.strictObject({
    kind: z.literal('answer'),
    status: z.number().int().min(200).max(599),
    headers: z.record(z.string(), z.string()).optional(),
    body: z.unknown().optional(),
  }),
  /** The answer's first byte comes late. */
  z.strictObject({ kind: z.literal('delay'), firstByteMs: count }),
  /** The connection is reset before the service did anything. */
  z.strictObject({ kind: z.literal('reset') }),
  /** The service does what it was asked, and the connection breaks before the answer's first byte. */
  z.strictObject({ kind: z.literal('drop_after_commit') }),
  /** The service does what it was asked, and the connection breaks in the middle of the answer. */
  z.strictObject({ kind: z.literal('cut'), afterBytes: count.optional(), afterEvents: count.optional() }),
  /** Silence with the socket open: before the first byte, or after that many events of a stream. */
  z.strictObject({ kind: z.literal('hang'), afterEvents: count.optional() }),
  /** A stream that closes cleanly without its end marker; without its finish event too, unless that is kept. */
  z.strictObject({
    kind: z.literal('no_end_marker'),
    keepFinish: z.boolean().optional(),
    afterEvents: count.optional(),
  }),
  /** The model ends for another reason: length, blacklist, error. */
  z.strictObject({ kind: z.literal('finish_reason'), value: z.string().min(1) }),
  /** The model says this, and nothing else; '' is an empty answer. */
  z.strictObject({ kind: z.literal('content'), text: z.string() }),
  /** How the bytes travel: tiny chunks, other line ends, comments between the events. */
  z.strictObject({
    kind: z.literal('wire'),
    chunkBytes: z.number().int().min(1).optional(),
    lineEnd: z.enum(['lf', 'crlf']).optional(),
    comments: z.boolean().optional(),
  }),
])

export const faultRule = z.strictObject({
  match: requestMatch.default({}),
  /** How many requests it acts on; null is every one. */
  times: z.number().int().min(1).nullable().default(1),
  fault: z.union([fault, z.array(fault).min(1)]),
})

export type Fault = z.input<typeof fault>
export type FaultRule = z.input<typeof faultRule>

export interface FaultState {
  readonly id: string
  readonly rule: z.output<typeof faultRule>
  readonly timesLeft: number | null
  readonly hits: number
}

/** All that is wrong with one request: the faults by kind, the latest rule of a kind wins. */
export type FaultPlan = { readonly [K in Fault['kind']]?: Extract<Fault, { kind: K }> }

export class Faults {
  readonly #rules = new Map<string, { rule: z.output<typeof faultRule>; timesLeft: number | null; hits: number }>()
  #lastId = 0

  add(rule: z.output<typeof faultRule>): string {
    this.#lastId += 1
    const id = `fault-${this.#lastId}`
    this.#rules.set(id, { rule, timesLeft: rule.times, hits: 0 })
    return id
  }

  remove(id: string): boolean {
    return this.#rules.delete(id)
  }

  clear(): void {
    this.#rules.clear()
  }

  list(): FaultState[] {
    return [...this.#rules].map(([id, state]) => ({ id, ...state }))
  }

  /** Uses up one time of every rule that matches. */
  take(request: WireRequest): { plan: FaultPlan; ids: string[] } {
    const ids: string[] = []
    const plan: Record<string, Fault> = {}
    for (const [id, state] of this.#rules) {
      if (state.timesLeft === 0 || !matches(state.rule.match, request)) continue
      if (state.timesLeft !== null) state.timesLeft -= 1
      state.hits += 1
      ids.push(id)
      for (const one of [state.rule.fault].flat()) plan[one.kind] = one
    }
    return { plan: plan as FaultPlan, ids }
  }
}
