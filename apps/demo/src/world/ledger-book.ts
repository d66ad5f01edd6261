import type { CommittedEntry, LedgerView, ReceivedEntry, SimulatorControl } from '@foothold/simulators'

export interface BookEntry {
  readonly received: ReceivedEntry
  /** What the request did, if it did anything. */
  readonly committed: CommittedEntry | null
}

/** A simulator's ledger, read on from where nothing changes any more. */
export function ledgerBook(control: SimulatorControl): { read(): Promise<BookEntry[]> } {
  const received = new Map<number, ReceivedEntry>()
  const committed = new Map<number, CommittedEntry>()
  let settledSeq = 0
  let reading: Promise<void> = Promise.resolve()

  const readOn = async (): Promise<void> => {
    const view = (await control.call('GET', `ledger?after=${settledSeq}`)) as LedgerView
    for (const entry of view.received) received.set(entry.seq, entry)
    for (const entry of view.committed) committed.set(entry.request, entry)
    const open = view.received.filter(({ answer }) => answer.endedAt === null).map(({ seq }) => seq)
    const seen = [...view.received, ...view.committed].map(({ seq }) => seq)
    settledSeq = Math.max(settledSeq, Math.min(...open.map((seq) => seq - 1), Math.max(settledSeq, ...seen)))
  }

  return {
    async read() {
      // One reader at a time: an older view must not overwrite a newer one.
      reading = reading.then(readOn)
      await reading
      return [...received.values()].map((entry) => ({ received: entry, committed: committed.get(entry.seq) ?? null }))
    },
  }
}
