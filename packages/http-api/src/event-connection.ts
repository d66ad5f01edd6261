/** One connection of an event stream. */
export interface EventConnection {
  readonly body: ReadableStream<Uint8Array>
  /** Lets go of the caller's signal; the body is cancelled by whoever reads it. */
  close(): void
}

/**
 * Opens a stream under the caller's signal, with a limit on the time to its headers. A listener of its own for each
 * connection, for the reason given in time-limit.ts.
 */
export async function openConnection(
  limitMs: number,
  outer: AbortSignal | undefined,
  open: (signal: AbortSignal) => Promise<ReadableStream<Uint8Array>>,
): Promise<EventConnection> {
  outer?.throwIfAborted()
  const controller = new AbortController()
  const onAbort = (): void => controller.abort(outer?.reason)
  const timer = setTimeout(() => controller.abort(new Error(`no answer within ${limitMs} ms`)), limitMs)
  outer?.addEventListener('abort', onAbort)
  const close = (): void => outer?.removeEventListener('abort', onAbort)
  try {
    return { body: await open(controller.signal), close }
  } catch (error) {
    close()
    throw error
  } finally {
    clearTimeout(timer)
  }
}
