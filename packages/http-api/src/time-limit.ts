/**
 * Runs a call under a time limit and, where there is one, the caller's signal. Not by AbortSignal.any: it would leave a
 * trace on a signal that lives as long as the caller's program.
 */
export async function withinTime<T>(
  limitMs: number,
  outer: AbortSignal | undefined,
  run: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  outer?.throwIfAborted()
  const controller = new AbortController()
  const onAbort = (): void => controller.abort(outer?.reason)
  const timer = setTimeout(() => controller.abort(new Error(`no answer within ${limitMs} ms`)), limitMs)
  outer?.addEventListener('abort', onAbort)
  try {
    return await run(controller.signal)
  } catch (error) {
    outer?.throwIfAborted()
    throw error
  } finally {
    clearTimeout(timer)
    outer?.removeEventListener('abort', onAbort)
  }
}
