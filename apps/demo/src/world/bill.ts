import type { Deeds, ModelCall } from './outside.ts'

/** What a round cost and brought. Everything is compared by id with the load generator's own list. */
export interface Bill {
  readonly accepted: number
  /** Accepted, and both the record and the reply are in the ledgers. */
  readonly answered: number
  readonly records: number
  readonly recordsDoubled: number
  readonly replies: number
  readonly repliesDoubled: number
  readonly tokensPaid: number
  /** Of those, what was paid for calls that another call had to repeat. */
  readonly tokensWasted: number
  readonly modelCallsRepeated: number
}

export interface Accepted {
  /** The load generator's own id, which stands in the ledgers of the CRM and of the desk. */
  readonly request: string
  /** As the queue calls it, which stands in the model's ledger. */
  readonly task: string
}

export const EMPTY_BILL: Bill = {
  accepted: 0,
  answered: 0,
  records: 0,
  recordsDoubled: 0,
  replies: 0,
  repliesDoubled: 0,
  tokensPaid: 0,
  tokensWasted: 0,
  modelCallsRepeated: 0,
}

export function billOf(accepted: readonly Accepted[], deeds: Deeds): Bill {
  const records = timesOf(deeds.records)
  const replies = timesOf(deeds.replies)
  const calls = sameCalls(deeds.modelCalls)
  const ours = accepted.flatMap(({ task }) => [calls.get(`${task} plan`) ?? [], calls.get(`${task} generate`) ?? []])
  const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0)
  const over = (times: ReadonlyMap<string, number>): number =>
    sum(accepted.map(({ request }) => Math.max(0, (times.get(request) ?? 0) - 1)))
  const all = (times: ReadonlyMap<string, number>): number =>
    sum(accepted.map(({ request }) => times.get(request) ?? 0))
  return {
    accepted: accepted.length,
    answered: accepted.filter(({ request }) => records.has(request) && replies.has(request)).length,
    records: all(records),
    recordsDoubled: over(records),
    replies: all(replies),
    repliesDoubled: over(replies),
    tokensPaid: sum(ours.map(tokensOf)),
    tokensWasted: sum(ours.map((same) => tokensOf(same) - tokensOf(used(same)))),
    modelCallsRepeated: sum(ours.map((same) => Math.max(0, same.length - 1))),
  }
}

/** The ids that were accepted and left no reply. */
export function lostOf(accepted: readonly Accepted[], deeds: Deeds): string[] {
  const replied = new Set(deeds.replies)
  const recorded = new Set(deeds.records)
  return accepted.map(({ request }) => request).filter((request) => !replied.has(request) || !recorded.has(request))
}

/** The ids that were done more than once, in the CRM or to the client. */
export function doubledOf(accepted: readonly Accepted[], deeds: Deeds): string[] {
  const [records, replies] = [timesOf(deeds.records), timesOf(deeds.replies)]
  return accepted
    .map(({ request }) => request)
    .filter((request) => (records.get(request) ?? 0) > 1 || (replies.get(request) ?? 0) > 1)
}

/** The last one that came whole; while none has, the one that is still being written. */
function used(same: readonly ModelCall[]): readonly ModelCall[] {
  const call = same.findLast(({ isWhole }) => isWhole) ?? same.at(-1)
  return call === undefined ? [] : [call]
}

function sameCalls(calls: readonly ModelCall[]): ReadonlyMap<string, readonly ModelCall[]> {
  const same = new Map<string, ModelCall[]>()
  for (const call of calls) {
    const key = `${call.task} ${call.kind}`
    same.set(key, [...(same.get(key) ?? []), call])
  }
  return same
}

function tokensOf(calls: readonly ModelCall[]): number {
  return calls.reduce((total, { tokens }) => total + tokens, 0)
}

function timesOf(ids: readonly string[]): ReadonlyMap<string, number> {
  const times = new Map<string, number>()
  for (const id of ids) times.set(id, (times.get(id) ?? 0) + 1)
  return times
}
