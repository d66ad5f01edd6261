import { encode } from '../protocol/codec.ts'
import type { Database } from '../store/database.ts'
import { type ChunkWrite, storeChunks } from '../store/steps.ts'

/**
 * What steps show while they run. Gathered for a moment and written in batches: a watcher's eye does not see 50 ms, the
 * database does.
 */

const GATHER_MS = 50
/** A step that ends sooner is shown by its result alone and costs no row more. */
const SHOW_STARTED_MS = 150
const ROWS_MAX = 500
/** Watching is a convenience: while the database is away it gives up long before the work itself does. */
const PATIENCE_MS = 5_000
/** Rows that wait for the database; beyond it the oldest are dropped, their step's result will say it all. */
const WAITING_MAX = 20_000

/** The channel that says "this step is running". */
export const STARTED_CHANNEL = '$started'

export interface StepStream {
  emit(channel: string, chunk: string): void
  /** Resolves when everything emitted so far can be seen. */
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
  let flushing: Promise<void> | null = null
  let timer: NodeJS.Timeout | null = null

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
      const rows = waiting.slice(0, ROWS_MAX)
      waiting = waiting.slice(ROWS_MAX)
      try {
        await storeChunks(db, rows, { doing: 'storing stream chunks', patienceMs: PATIENCE_MS })
      } catch (error) {
        onTrouble(error)
      }
    }
  }

  function add(row: ChunkWrite): void {
    waiting.push(row)
    if (waiting.length > WAITING_MAX) waiting.splice(0, waiting.length - WAITING_MAX)
    timer ??= setTimeout(() => void flush(), GATHER_MS)
  }

  return {
    open(step) {
      let seq = 0
      let hasShown = false
      const show = (channel: string, chunk: string): void => {
        hasShown = true
        add({ ...step, seq: seq++, channel, chunk: encode(chunk, 'chunk') })
      }
      const started = setTimeout(() => show(STARTED_CHANNEL, ''), SHOW_STARTED_MS)
      return {
        emit(channel, chunk) {
          if (seq === 0) {
            clearTimeout(started)
            show(STARTED_CHANNEL, '')
          }
          show(channel, chunk)
        },
        async end() {
          clearTimeout(started)
          // Twice: rows that came while a flush was on its way are in the next one.
          if (hasShown && (waiting.length > 0 || flushing !== null)) await flush().then(() => flush())
        },
      }
    },
    close: () => flush().then(() => flush()),
  }
}
