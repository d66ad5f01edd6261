// Puts an answer on the wire, whole or as events, and bends it as the faults say. Whatever happens, exactly one end is
// written into the ledger.

import type { ServerResponse } from 'node:http'
import type { FaultPlan } from '../control/faults.ts'
import type { AnswerState } from '../control/ledger.ts'
import type { WireAnswer, WireEvent } from './answer.ts'
import { pauseUnlessGone } from './pause.ts'

export interface Sending {
  readonly response: ServerResponse
  readonly plan: FaultPlan
  /** Fires when the client has gone. */
  readonly clientGone: AbortSignal
  /** Called after each event; a gate in mid-stream waits in it. */
  readonly afterEvent: (eventsSent: number) => Promise<void>
}

export interface SentAnswer {
  readonly state: AnswerState
  readonly bytes: number
  readonly events: number
  readonly tokens: number
}

export async function sendAnswer(answer: WireAnswer, sending: Sending): Promise<SentAnswer> {
  const sender = new Sender(sending)
  const state = answer.kind === 'whole' ? await sender.whole(answer) : await sender.events(answer)
  return { state, bytes: sender.bytes, events: sender.eventsSent, tokens: sender.tokens }
}

type Written = 'written' | 'cut' | 'gone'

class Sender {
  readonly #sending: Sending
  bytes = 0
  eventsSent = 0
  tokens = 0

  constructor(sending: Sending) {
    this.#sending = sending
  }

  async whole(answer: Extract<WireAnswer, { kind: 'whole' }>): Promise<AnswerState> {
    const { response, plan } = this.#sending
    if (plan.hang !== undefined) return this.#hang()
    const body = Buffer.from(answer.body, 'utf8')
    response.writeHead(answer.status, { ...answer.headers, 'content-length': String(body.length) })
    response.flushHeaders()
    const written = await this.#write(body)
    return written === 'written' ? this.#end('answered') : stateOf(written)
  }

  async events(answer: Extract<WireAnswer, { kind: 'events' }>): Promise<AnswerState> {
    const { response, plan, clientGone, afterEvent } = this.#sending
    if (plan.hang !== undefined && plan.hang.afterEvents === undefined) return this.#hang()
    response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8', ...answer.headers })
    response.flushHeaders()
    if (this.#stopsHere()) return this.#stop()
    await afterEvent(0)
    for (const event of answer.events.filter((one) => isKept(one, plan))) {
      if (this.eventsSent > 0 && answer.pauseMs > 0) await pauseUnlessGone(answer.pauseMs, clientGone)
      const written = await this.#write(Buffer.from(this.#framed(event), 'utf8'))
      if (written !== 'written') return stateOf(written)
      this.eventsSent += 1
      this.tokens = event.tokensSoFar ?? this.tokens
      if (this.#stopsHere()) return this.#stop()
      await afterEvent(this.eventsSent)
    }
    return this.#end(plan.no_end_marker === undefined ? 'answered' : 'ended_early')
  }

  #stopsHere(): boolean {
    const { hang, cut, no_end_marker: noEnd } = this.#sending.plan
    return [hang?.afterEvents, cut?.afterEvents, noEnd?.afterEvents].includes(this.eventsSent)
  }

  async #stop(): Promise<AnswerState> {
    const { plan, response } = this.#sending
    if (plan.hang?.afterEvents === this.eventsSent) return this.#hang()
    if (plan.cut?.afterEvents !== this.eventsSent) return this.#end('ended_early')
    response.socket?.destroy()
    return 'cut'
  }

  /** Silence until the client gives up. */
  async #hang(): Promise<AnswerState> {
    const { clientGone } = this.#sending
    await doneOrGone(clientGone, () => {})
    return 'aborted'
  }

  #framed(event: WireEvent): string {
    const { wire } = this.#sending.plan
    const line = wire?.lineEnd === 'crlf' ? '\r\n' : '\n'
    const comment = wire?.comments === true ? `: ping${line}${line}` : ''
    return `${comment}data: ${event.data}${line}${line}`
  }

  async #write(bytes: Buffer): Promise<Written> {
    const { response, plan, clientGone } = this.#sending
    const limit = plan.cut?.afterBytes
    const allowed = limit === undefined ? bytes : bytes.subarray(0, Math.max(0, limit - this.bytes))
    const size = plan.wire?.chunkBytes ?? allowed.length
    for (let at = 0; at < allowed.length; at += size) {
      if (clientGone.aborted) return 'gone'
      const chunk = allowed.subarray(at, at + size)
      this.bytes += chunk.length
      await doneOrGone(clientGone, (done) => response.write(chunk, done))
    }
    if (clientGone.aborted) return 'gone'
    if (limit === undefined || this.bytes < limit) return 'written'
    response.socket?.destroy()
    return 'cut'
  }

  async #end(state: AnswerState): Promise<AnswerState> {
    const { response, clientGone } = this.#sending
    if (clientGone.aborted) return 'aborted'
    await doneOrGone(clientGone, (done) => response.end(done))
    return response.writableFinished ? state : 'aborted'
  }
}

/** Node does not call back for a write whose socket broke, so the client's going ends the wait as well. */
async function doneOrGone(clientGone: AbortSignal, act: (done: () => void) => void): Promise<void> {
  await new Promise<void>((resolve) => {
    if (clientGone.aborted) return resolve()
    const finish = (): void => {
      clientGone.removeEventListener('abort', finish)
      resolve()
    }
    clientGone.addEventListener('abort', finish)
    act(finish)
  })
}

function stateOf(written: Exclude<Written, 'written'>): AnswerState {
  return written === 'cut' ? 'cut' : 'aborted'
}

function isKept(event: WireEvent, plan: FaultPlan): boolean {
  const fault = plan.no_end_marker
  if (fault === undefined || event.role === 'delta') return true
  return event.role === 'finish' && fault.keepFinish === true
}
