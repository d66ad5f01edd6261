import { stringifyJson } from './lossless-json.ts'

/** One `data:` event. The role lets a fault leave out the finish or the end marker without reading the data. */
export interface WireEvent {
  readonly role: 'delta' | 'finish' | 'end'
  readonly data: string
  /** What the client has received of the answer once this event is out, in the provider's tokens. */
  readonly tokensSoFar?: number
}

export type WireAnswer =
  | {
      readonly kind: 'whole'
      readonly status: number
      readonly headers: Readonly<Record<string, string>>
      readonly body: string
    }
  | {
      readonly kind: 'events'
      readonly headers: Readonly<Record<string, string>>
      readonly events: readonly WireEvent[]
      readonly pauseMs: number
    }

export function jsonAnswer(status: number, value: unknown, headers: Record<string, string> = {}): WireAnswer {
  return {
    kind: 'whole',
    status,
    headers: { 'content-type': 'application/json; charset=utf-8', ...headers },
    body: stringifyJson(value),
  }
}
