import type { TaskEvent } from 'foothold'
import { eventFrame, KEEP_ALIVE_FRAME, retryFrame } from './event-frames.ts'

export interface EventStreamSource {
  readonly watch: (signal: AbortSignal) => AsyncIterable<TaskEvent>
  /** Any of them: the server is about to close, say goodbye. */
  readonly stopping: readonly AbortSignal[]
  readonly keepAliveMs: number
  readonly onFailure: (error: unknown) => void
  /** Once, however the stream ends. */
  readonly onClose: () => void
}

/** A restarted server meets its watchers over two seconds, not all at once. */
const RETRY_FIRST_MS = 1_000
const RETRY_SPREAD_MS = 2_000

const ENDS: ReadonlySet<string> = new Set(['completed', 'cancelled', 'dead_letter'])

/**
 * The events of one watcher as a byte stream. Pulled, never pushed: a slow reader holds back the watch instead of filling
 * memory. Ends with `end` after the task ended; with a `retry:` hint when the server stops or the watch fails, so that
 * the watcher comes back after its last cursor. Resolves once the first event is there, so that a refusal is still an
 * ordinary answer. The watcher's going away stops the watch and nothing else.
 */
export async function openEventStream(source: EventStreamSource): Promise<ReadableStream<Uint8Array>> {
  const leaving = new AbortController()
  const iterator = source.watch(leaving.signal)[Symbol.asyncIterator]()
  let last: Extract<TaskEvent, { type: 'status' }> | null = null
  let pending: Promise<IteratorResult<TaskEvent>> | null = null
  let wake: ((news: News) => void) | null = null
  let isClosed = false

  const onStopping = (): void => wake?.({ kind: 'stopping' })
  // Each by itself: AbortSignal.any would leave a trace on these long-lived signals for every watcher that ever was.
  for (const signal of source.stopping) signal.addEventListener('abort', onStopping)

  function close(): void {
    if (isClosed) return
    isClosed = true
    for (const signal of source.stopping) signal.removeEventListener('abort', onStopping)
    leaving.abort()
    // The watch may be in the middle of a query: it ends on its own, and nobody is left to tell.
    pending?.catch(() => {})
    iterator.return?.().catch(() => {})
    source.onClose()
  }

  /** The next thing to tell. One listener and one timer at a time, however long the stream. */
  function news(): Promise<News> {
    if (source.stopping.some((signal) => signal.aborted)) return Promise.resolve({ kind: 'stopping' })
    return new Promise((resolve) => {
      const timer = setTimeout(() => resolve({ kind: 'quiet' }), source.keepAliveMs)
      wake = (found) => {
        clearTimeout(timer)
        resolve(found)
      }
      pending ??= iterator.next()
      pending.then(
        (result) => wake?.({ kind: 'next', result }),
        (error: unknown) => wake?.({ kind: 'failed', error }),
      )
    })
  }

  const encoder = new TextEncoder()
  let first: News | null
  try {
    pending = iterator.next()
    first = { kind: 'next', result: await pending }
  } catch (error) {
    close()
    throw error
  }

  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const found = first ?? (await news())
        first = null
        if (isClosed) return
        const write = (text: string): void => controller.enqueue(encoder.encode(text))
        const finish = (text: string): void => {
          write(text)
          controller.close()
          close()
        }
        switch (found.kind) {
          case 'next': {
            pending = null
            const { result } = found
            if (result.done === true) return finish(last === null ? retryFrame(retryMs()) : farewell(last))
            if (result.value.type === 'status') last = result.value
            return write(eventFrame(result.value))
          }
          case 'quiet':
            return write(KEEP_ALIVE_FRAME)
          case 'stopping':
            return finish(retryFrame(retryMs()))
          case 'failed':
            source.onFailure(found.error)
            return finish(retryFrame(retryMs()))
        }
      },
      cancel: close,
    },
    { highWaterMark: 0 },
  )
}

type News =
  | { readonly kind: 'next'; readonly result: IteratorResult<TaskEvent> }
  | { readonly kind: 'quiet' }
  | { readonly kind: 'stopping' }
  | { readonly kind: 'failed'; readonly error: unknown }

/** `end` for a task that has ended; a watch that stopped by itself before that is a reason to come back. */
function farewell({ status, reason }: Extract<TaskEvent, { type: 'status' }>): string {
  if (!ENDS.has(status)) return retryFrame(retryMs())
  return eventFrame({ type: 'end', status: status as 'completed' | 'cancelled' | 'dead_letter', reason })
}

function retryMs(): number {
  return Math.round(RETRY_FIRST_MS + Math.random() * RETRY_SPREAD_MS)
}
