// A gate holds requests at an exact point until a test opens it, so that a kill lands there without any timer.
// A request whose client has gone stays in the gate and goes on when it opens: the real services do not notice either.

import { z } from 'zod'
import type { WireRequest } from '../wire/request.ts'
import { matches, requestMatch } from './matching.ts'
import { Watchers } from './watchers.ts'

export const gateRule = z
  .strictObject({
    name: z.string().regex(/^[\w.-]{1,64}$/, 'must be 1 to 64 letters, digits, dots, dashes or underscores'),
    match: requestMatch.default({}),
    point: z.enum(['before', 'after_commit', 'mid_stream']).default('before'),
    /** For mid_stream: how many events are out before the gate. */
    afterEvents: z.number().int().min(0).optional(),
    /** How many requests it holds; the ones after that pass. null is every one. */
    times: z.number().int().min(1).nullable().default(null),
  })
  .refine((rule) => rule.point === 'mid_stream' || rule.afterEvents === undefined, {
    path: ['afterEvents'],
    message: 'is only for the point mid_stream',
  })

export type GateRule = z.input<typeof gateRule>
export type GatePoint = 'before' | 'after_commit' | 'mid_stream'

export interface GateState {
  readonly name: string
  readonly point: GatePoint
  readonly open: boolean
  /** Requests that are held now, the ones whose client has gone included. */
  readonly waiting: number
  /** How many of the waiting have lost their client: it was killed, or gave up. */
  readonly abandoned: number
  /** Requests that have come to the gate since it was made, the waiting ones included. */
  readonly entered: number
}

interface Gate {
  readonly rule: z.output<typeof gateRule>
  readonly opened: Promise<void>
  readonly open: () => void
  isOpen: boolean
  waiting: number
  abandoned: number
  entered: number
}

export class Gates {
  readonly #gates = new Map<string, Gate>()
  readonly #watchers = new Watchers()

  /** A gate of a name that exists is opened and replaced. */
  add(rule: z.output<typeof gateRule>): void {
    this.open(rule.name)
    const { promise, resolve } = openable()
    const counts = { waiting: 0, abandoned: 0, entered: 0 }
    this.#gates.set(rule.name, { rule, opened: promise, open: resolve, isOpen: false, ...counts })
  }

  open(name: string): boolean {
    const gate = this.#gates.get(name)
    if (gate === undefined) return false
    gate.isOpen = true
    gate.open()
    return true
  }

  openAll(): void {
    for (const name of this.#gates.keys()) this.open(name)
  }

  state(name: string): GateState | undefined {
    const gate = this.#gates.get(name)
    if (gate === undefined) return undefined
    const { rule, isOpen, waiting, abandoned, entered } = gate
    return { name, point: rule.point, open: isOpen, waiting, abandoned, entered }
  }

  /** Resolves when so many requests wait in the gate, or with what there is at the deadline. */
  async waitFor(
    name: string,
    least: { waiting: number; abandoned: number },
    timeoutMs: number,
  ): Promise<GateState | undefined> {
    await this.#watchers.until(() => {
      const state = this.state(name)
      return state === undefined || (state.waiting >= least.waiting && state.abandoned >= least.abandoned)
    }, timeoutMs)
    return this.state(name)
  }

  /** The gate at this point of this request, if one is closed there. */
  async pass(point: GatePoint, request: WireRequest, clientGone: AbortSignal, eventsSent = 0): Promise<void> {
    for (const gate of this.#gates.values()) {
      const { rule } = gate
      if (gate.isOpen || rule.point !== point || !matches(rule.match, request)) continue
      if (point === 'mid_stream' && (rule.afterEvents ?? 1) !== eventsSent) continue
      if (rule.times !== null && gate.entered >= rule.times) continue
      gate.entered += 1
      await this.#hold(gate, clientGone)
    }
  }

  async #hold(gate: Gate, clientGone: AbortSignal): Promise<void> {
    gate.waiting += 1
    const abandon = (): void => {
      gate.abandoned += 1
      this.#watchers.changed()
    }
    if (clientGone.aborted) abandon()
    else clientGone.addEventListener('abort', abandon, { once: true })
    this.#watchers.changed()
    await gate.opened
    clientGone.removeEventListener('abort', abandon)
    gate.waiting -= 1
    if (clientGone.aborted) gate.abandoned -= 1
  }
}

function openable(): { promise: Promise<void>; resolve: () => void } {
  let resolve: () => void = () => {}
  const promise = new Promise<void>((done) => {
    resolve = done
  })
  return { promise, resolve }
}
