import { parseJson } from '../wire/lossless-json.ts'
import type { FaultRule, FaultState } from './faults.ts'
import type { GateRule, GateState } from './gates.ts'
import type { LedgerView } from './ledger.ts'

/** The routes under /_sim as functions, for a simulator in this process or in another. */
export interface SimulatorControl {
  ledger(): Promise<LedgerView>
  /** Resolves when the ledger holds at least so much; rejects at the deadline, saying what it holds. */
  waitForLedger(
    least: { received?: number; committed?: number; ended?: number },
    options?: { timeoutMs?: number },
  ): Promise<LedgerView>
  clearLedger(): Promise<void>
  /** Answers the rule's id. */
  fault(rule: FaultRule): Promise<string>
  faults(): Promise<FaultState[]>
  clearFaults(): Promise<void>
  gate(rule: GateRule): Promise<void>
  gateState(name: string): Promise<GateState>
  openGate(name: string): Promise<void>
  /**
   * Resolves when so many requests (default 1) are held in the gate; rejects at the deadline. After a kill, wait for
   * `abandoned` before opening: until then the service has not seen that its client is gone.
   */
  waitForGate(name: string, options?: { count?: number; abandoned?: number; timeoutMs?: number }): Promise<GateState>
  /** No faults, all gates open, an empty ledger, and the state that the service started with. */
  reset(): Promise<void>
  /** Any other control route: `call('PUT', 'orders/5501', { stage: 'Отменён' })`. */
  call(method: string, path: string, body?: unknown): Promise<unknown>
}

const TIMEOUT_MS = 20_000

/** How a control request gets to the simulator and its answer back. */
export type ControlCall = (
  method: string,
  path: string,
  body?: unknown,
) => Promise<{ readonly status: number; readonly text: string }>

/** The control of a simulator in another process, by its address. */
export function controlOf(simulatorUrl: string): SimulatorControl {
  return controlBy(async (method, path, body) => {
    const response = await fetch(`${simulatorUrl}/_sim/${path}`, {
      method,
      ...(body === undefined ? {} : { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
    })
    return { status: response.status, text: await response.text() }
  })
}

export function controlBy(send: ControlCall): SimulatorControl {
  const call = async (method: string, path: string, body?: unknown): Promise<unknown> => {
    const { status, text } = await send(method, path, body)
    const answer = parseJson(text)
    if (status >= 400) throw new Error(`${method} /_sim/${path}: ${JSON.stringify(answer)}`)
    return answer
  }
  return {
    call,
    ledger: async () => (await call('GET', 'ledger')) as LedgerView,
    waitForLedger: async ({ received = 0, committed = 0, ended = 0 }, { timeoutMs = TIMEOUT_MS } = {}) => {
      const query = new URLSearchParams({
        received: String(received),
        committed: String(committed),
        ended: String(ended),
        timeoutMs: String(timeoutMs),
      })
      const ledger = (await call('GET', `ledger/wait?${query.toString()}`)) as LedgerView
      const endedNow = ledger.received.filter(({ answer }) => answer.endedAt !== null).length
      if (ledger.received.length < received || ledger.committed.length < committed || endedNow < ended) {
        const seen = `${ledger.received.length} received, ${ledger.committed.length} committed, ${endedNow} ended`
        throw new Error(`after ${timeoutMs} ms the ledger holds ${seen}`)
      }
      return ledger
    },
    clearLedger: async () => void (await call('DELETE', 'ledger')),
    fault: async (rule) => ((await call('POST', 'faults', rule)) as { id: string }).id,
    faults: async () => ((await call('GET', 'faults')) as { faults: FaultState[] }).faults,
    clearFaults: async () => void (await call('DELETE', 'faults')),
    gate: async (rule) => void (await call('POST', 'gate', rule)),
    gateState: async (name) => (await call('GET', `gate/${name}`)) as GateState,
    openGate: async (name) => void (await call('POST', `gate/${name}/open`)),
    waitForGate: async (name, { count = 1, abandoned = 0, timeoutMs = TIMEOUT_MS } = {}) => {
      const query = `count=${count}&abandoned=${abandoned}&timeoutMs=${timeoutMs}`
      const state = (await call('GET', `gate/${name}/wait?${query}`)) as GateState
      if (state.waiting >= count && state.abandoned >= abandoned) return state
      const wanted = `${count} requests in it, ${abandoned} of them abandoned`
      throw new Error(
        `after ${timeoutMs} ms gate ${name} has ${state.waiting}, ${state.abandoned} abandoned, not ${wanted}`,
      )
    },
    reset: async () => void (await call('POST', 'reset')),
  }
}
