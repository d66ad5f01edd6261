import { FootholdError } from '../protocol/errors.ts'
import type { LoadedStep } from '../store/claim.ts'
import type { Database } from '../store/database.ts'
import { isDataFailure } from '../store/sqlstate.ts'
import { readStep, type StepWrite, type StepWriteAnswer, storeSteps } from '../store/steps.ts'

/**
 * Steps of all running tasks travel together: a flush takes what has gathered while the previous one was on its way, so
 * a task alone never waits for company. `store` resolves after the commit.
 */

/** What bounds one flush: rows for the plan's sake, bytes for memory's. */
const ROWS_MAX = 500
const BYTES_MAX = 4 * 1024 * 1024
/** A large payload travels alone, so that it delays no others. */
const ALONE_BYTES = 256 * 1024
/** Statements that may wait for a lock at a time: few, or held rows take all connections. */
const WAITING_MAX = 3

export type StoreAnswer =
  | { readonly kind: 'stored' }
  /** Somebody's result stands already and counts. */
  | { readonly kind: 'stands'; readonly step: LoadedStep }
  /** The attempt is no longer ours. */
  | { readonly kind: 'not_held' }

export interface Journal {
  store(workerId: string, write: StepWrite): Promise<StoreAnswer>
  /** Gives up what is on its way. */
  close(reason: Error): void
}

interface Entry {
  readonly workerId: string
  readonly write: StepWrite
  readonly bytes: number
  readonly resolve: (answer: StoreAnswer) => void
  readonly reject: (error: unknown) => void
}

export function createJournal(db: Database): Journal {
  const closing = new AbortController()
  let queue: Entry[] = []
  let isFlushing = false
  /** Rows that were skipped: somebody holds them, or they are not ours any more. */
  const skipped: Entry[] = []
  let waiting = 0
  const run = { doing: 'storing steps', patienceMs: Number.POSITIVE_INFINITY, signal: closing.signal } as const

  async function flushAll(): Promise<void> {
    isFlushing = true
    try {
      while (queue.length > 0) {
        const { batch, rest } = takeBatch(queue)
        queue = rest
        await flush(batch)
      }
    } finally {
      isFlushing = false
    }
  }

  /** Never throws: every entry gets its own answer. */
  async function flush(batch: readonly Entry[]): Promise<void> {
    const [first] = batch
    if (first === undefined) return
    try {
      const writes = batch.map((entry) => entry.write)
      const answers = await storeSteps(db, first.workerId, writes, { ...run, waitForLocks: false })
      await Promise.all(batch.map((entry, index) => answer(entry, answers[index], { hasWaited: false })))
    } catch (error) {
      if (batch.length > 1 && isDataFailure(error)) {
        // One bad row must fail alone.
        const middle = Math.ceil(batch.length / 2)
        await flush(batch.slice(0, middle))
        await flush(batch.slice(middle))
      } else {
        for (const entry of batch) entry.reject(error)
      }
    }
  }

  /** Beside the flushes: a held row must not keep the others from being stored. Never throws. */
  async function storeSkipped(): Promise<void> {
    waiting += 1
    for (let entry = skipped.shift(); entry !== undefined; entry = skipped.shift()) {
      try {
        const [given] = await storeSteps(db, entry.workerId, [entry.write], { ...run, waitForLocks: true })
        await answer(entry, given, { hasWaited: true })
      } catch (error) {
        entry.reject(error)
      }
    }
    waiting -= 1
  }

  async function answer(
    entry: Entry,
    given: StepWriteAnswer | undefined,
    { hasWaited }: { readonly hasWaited: boolean },
  ): Promise<void> {
    try {
      if (given === undefined) throw new Error('A batch answered with fewer rows than it was given.')
      if (given.held && given.stored) return entry.resolve({ kind: 'stored' })
      if (!given.held) {
        if (hasWaited) return entry.resolve({ kind: 'not_held' })
        // Skipped because its row was held, or lost: only the statement that waits can tell.
        skipped.push(entry)
        if (waiting < WAITING_MAX) void storeSkipped()
        return
      }
      const step = await readStep(db, entry.write.taskId, entry.write.key, run)
      if (step === null) throw new Error('A step that stood a moment ago is gone.')
      entry.resolve({ kind: 'stands', step })
    } catch (error) {
      entry.reject(error)
    }
  }

  return {
    store(workerId, write) {
      return new Promise((resolve, reject) => {
        if (closing.signal.aborted) return reject(new FootholdError('CLOSED', {}))
        const bytes = (write.output?.length ?? 0) + (write.error?.length ?? 0)
        queue.push({ workerId, write, bytes, resolve, reject })
        if (!isFlushing) void flushAll()
      })
    },
    close: (reason) => closing.abort(reason),
  }
}

/** One flush: one worker id, at most one row per step of a task, within the bounds; the order of arrival is kept. */
function takeBatch(queue: readonly Entry[]): { batch: Entry[]; rest: Entry[] } {
  const batch: Entry[] = []
  const rest: Entry[] = []
  const keys = new Set<string>()
  let bytes = 0
  for (const entry of queue) {
    const key = `${entry.write.taskId}\n${entry.write.key}`
    const fits =
      batch.length === 0 ||
      (batch.length < ROWS_MAX &&
        bytes + entry.bytes <= BYTES_MAX &&
        entry.bytes <= ALONE_BYTES &&
        (batch[0] as Entry).bytes <= ALONE_BYTES &&
        entry.workerId === (batch[0] as Entry).workerId)
    if (fits && !keys.has(key)) {
      batch.push(entry)
      bytes += entry.bytes
    } else {
      rest.push(entry)
    }
    keys.add(key)
  }
  return { batch, rest }
}
