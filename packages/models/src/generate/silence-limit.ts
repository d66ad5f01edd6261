import { ReasonedError } from 'foothold'
import { linkSignals, untilAborted } from '../wire/linked-signal.ts'

/**
 * Ends a stream that says nothing for too long, and only that one: a healthy stream may last as long as its step. A
 * model that ignores its signal is left behind rather than waited for.
 */
export async function* withSilenceLimit<Event>(
  open: (signal: AbortSignal) => AsyncIterable<Event>,
  limits: {
    readonly signal: AbortSignal
    readonly idleTimeoutMs: number
    readonly modelId: string
    readonly onSilence: () => void
  },
): AsyncGenerator<Event, void, undefined> {
  const { idleTimeoutMs, modelId } = limits
  const link = linkSignals(limits.signal)
  const timer = setTimeout(() => {
    limits.onSilence()
    const message = `${modelId}: no data for ${idleTimeoutMs / 1000} s.`
    link.abort(new ReasonedError(message, { reason: 'llm_unavailable' }))
  }, idleTimeoutMs)
  const events = open(link.signal)[Symbol.asyncIterator]()
  let isEnded = false
  try {
    for (;;) {
      const next = await untilAborted(events.next(), link.signal)
      if (next.done === true) {
        isEnded = true
        return
      }
      timer.refresh()
      yield next.value
    }
  } catch (error) {
    isEnded = !link.signal.aborted
    throw error
  } finally {
    clearTimeout(timer)
    link.abort(new Error('The answer is not read any further.'))
    link.unlink()
    // Not awaited: a model that hangs would hang here too.
    if (!isEnded) void Promise.resolve(events.return?.()).catch(() => undefined)
  }
}
