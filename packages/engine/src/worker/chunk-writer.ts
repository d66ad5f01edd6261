import { encode } from '../protocol/codec.ts'
import { checkKey } from '../protocol/names.ts'
import type { Database } from '../store/database.ts'
import { type ChunkWrite, storeChunks } from '../store/steps.ts'

/**
 * What steps show while they run. Gathered for a moment and written in batches: a watcher's eye does not see 50 ms, the
 * database does. Watching is a convenience: a step waits for its own rows alone, and not for long.
 */

const GATHER_MS = 50
/** A step that ends sooner is shown by its result alone and costs no row more. */
const SHOW_STARTED_MS = 150
/** One statement, and what may wait for the database: beyond it the oldest are dropped, their step's result says it all. */
const ROWS_MAX = 500
const CHARACTERS_MAX = 2_000_000
const WAITING_ROWS_MAX = 20_000
const WAITING_CHARACTERS_MAX = 32_000_000
/** While the database is away watching gives up long before the work itself does. */
const PATIENCE_MS = 5_000

/** The channel that says "this step is running". */
export const STARTED_CHANNEL = '$started'

export interface StepStream {
  emit(channel: string, chunk: string): void
  /** The step has begun and is being cut off: nothing else will tell that it has run. */
  leaveTrace(): void
  /** Resolves when what this step has emitted can be seen, or will not be. Nothing can be emitted after it. */
  end(): Promise<void>
}

export interface ChunkWriter {
  open(step: {
    readonly taskId: string
    readonly key: string
    readonly attempt: number
    readonly tries: number
  }): StepStream
  close(): Promise<void>
}

export function createChunkWriter(db: Database, onTrouble: (error: unknown) => void): ChunkWriter {
  let waiting: ChunkWrite[] = []
  let waitingCharacters = 0
  /** Rows that have come, and rows that are written or dropped, since the beginning. */
  let added = 0
  let settled = 0
  let listeners: { readonly at: number; readonly tell: () => void }[] = []
  let flushing: Promise<void> | null = null
  let timer: NodeJS.Timeout | null = null

  function settle(rows: number): void {
    settled += rows
    const due = listeners.filter(({ at }) => at <= settled)
    if (due.length === 0) return
    listeners = listeners.filter(({ at }) => at > settled)
    for (const { tell } of due) tell()
  }

  function flush(): Promise<void> {
    if (timer !== null) clearTimeout(timer)
    timer = null
    flushing ??= write().finally(() => {
      flushing = null
    })
    return flushing
  }

  async function write(): Promise<void> {
    while (waiting.length > 0) {
      const rows = takeBatch()
      try {
        await storeChunks(db, rows, { doing: 'storing stream chunks', patienceMs: PATIENCE_MS })
      } catch (error) {
        onTrouble(error)
      }
      settle(rows.length)
    }
  }

  function takeBatch(): readonly ChunkWrite[] {
    let characters = 0
    let count = 0
    for (const row of waiting.slice(0, ROWS_MAX)) {
      characters += row.chunk.length
      if (count > 0 && characters > CHARACTERS_MAX) break
      count += 1
    }
    const rows = waiting.slice(0, count)
    waiting = waiting.slice(count)
    for (const row of rows) waitingCharacters -= row.chunk.length
    return rows
  }

  function add(row: ChunkWrite): void {
    waiting.push(row)
    waitingCharacters += row.chunk.length
    added += 1
    if (waiting.length > WAITING_ROWS_MAX || waitingCharacters > WAITING_CHARACTERS_MAX) dropOldest()
    timer ??= setTimeout(() => void flush(), GATHER_MS)
  }

  /** A tenth at once: row by row every further one would move all the others. */
  function dropOldest(): void {
    const dropped = waiting.splice(0, Math.max(1, Math.ceil(waiting.length / 10)))
    for (const row of dropped) waitingCharacters -= row.chunk.length
    settle(dropped.length)
  }

  async function shown(upTo: number): Promise<void> {
    if (settled >= upTo) return
    await new Promise<void>((resolve) => {
      const limit = setTimeout(resolve, PATIENCE_MS)
      const tell = (): void => {
        clearTimeout(limit)
        resolve()
      }
      listeners.push({ at: upTo, tell })
      void flush()
    })
  }

  return {
    open(step) {
      let seq = 0
      let last = 0
      let isOver = false
      const show = (channel: string, chunk: string): void => {
        add({ ...step, seq: seq++, channel, chunk: encode(chunk, 'chunk') })
        last = added
      }
      const tellStarted = (): void => {
        clearTimeout(started)
        if (seq === 0) show(STARTED_CHANNEL, '')
      }
      const started = setTimeout(tellStarted, SHOW_STARTED_MS)
      return {
        emit(channel, chunk) {
          checkKey('channel', channel)
          // A try that was given up may go on talking.
          if (isOver) return
          tellStarted()
          show(channel, chunk)
        },
        leaveTrace() {
          if (!isOver) tellStarted()
        },
        async end() {
          isOver = true
          clearTimeout(started)
          await shown(last)
        },
      }
    },
    async close() {
      await flush()
      await flush()
    },
  }
}
