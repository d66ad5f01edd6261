import type { EventSourceMessage } from 'eventsource-parser'
import { ApiError, unreachable } from './api-error.ts'
import type { EventConnection } from './event-connection.ts'
import { eventMessages } from './event-messages.ts'
import { isPassing, reconnectDelayMs } from './reconnect.ts'
import { EVENT_NAMES, TaskEvent } from './task-event.ts'

/** Three keep-alive comments of the server. */
const SILENCE_MAX_MS = 45_000

export interface Watch {
  readonly url: string
  /** Opens the stream after a cursor; throws ApiError. */
  readonly open: (after: string | undefined) => Promise<EventConnection>
  readonly after: string | undefined
  readonly signal: AbortSignal | undefined
  readonly firstDelayMs: number
  readonly giveUpAfterMs: number
}

/**
 * Yields a task's events until `end`, over as many connections as it takes: each goes on after the last cursor seen.
 * Gives up on a refusal that will not pass, and when nothing was heard for `giveUpAfterMs`.
 */
export async function* watch({
  url,
  open,
  after,
  signal,
  firstDelayMs,
  giveUpAfterMs,
}: Watch): AsyncGenerator<TaskEvent> {
  let cursor = after
  let hintMs = firstDelayMs
  let failures = 0
  let heardAt = performance.now()
  while (true) {
    let setback: ApiError | null = null
    let connection: EventConnection | null = null
    try {
      connection = await open(cursor)
      const onRetry = (ms: number): void => {
        hintMs = ms
      }
      const onHeard = (): void => {
        failures = 0
        heardAt = performance.now()
      }
      for await (const message of eventMessages(connection.body, { silenceMaxMs: SILENCE_MAX_MS, onRetry, onHeard })) {
        const event = eventOf(message, url)
        if (event === null) continue
        if (message.id !== undefined && message.id !== '') cursor = message.id
        yield event
        if (event.type === 'end') return
        // However long the caller took over it.
        heardAt = performance.now()
      }
    } catch (error) {
      signal?.throwIfAborted()
      setback = error instanceof ApiError ? error : unreachable(url, error)
      if (!isPassing(setback) || performance.now() - heardAt > giveUpAfterMs) throw setback
      failures += 1
    } finally {
      connection?.close()
    }
    const retryAfterMs = setback?.retryAfterMs ?? null
    await delay(reconnectDelayMs({ failures, hintMs, retryAfterMs, random: Math.random() }), signal)
  }
}

/** Null for a name that a newer server may send. */
function eventOf(message: EventSourceMessage, url: string): TaskEvent | null {
  if (message.event === undefined || !EVENT_NAMES.has(message.event)) return null
  try {
    return TaskEvent.parse(JSON.parse(message.data))
  } catch (cause) {
    const what = `${url} sent a ${message.event} event of an unknown shape`
    throw new ApiError(what, { code: 'UNEXPECTED_ANSWER', status: 200 }, { cause })
  }
}

function delay(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => {
      clearTimeout(timer)
      // oxlint-disable-next-line typescript/prefer-promise-reject-errors -- the caller's own reason, as fetch does it
      reject(signal?.reason)
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', onAbort)
      resolve()
    }, ms)
    if (signal?.aborted) onAbort()
    else signal?.addEventListener('abort', onAbort, { once: true })
  })
}
