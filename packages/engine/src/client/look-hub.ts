import { FootholdError } from '../protocol/errors.ts'

/**
 * One poller for everybody in this process who waits for something in the database: who asks says when; whoever is due at
 * about the same time shares a query. An asker asks again for its next look, so a slow reader slows down only itself.
 */
export interface LookHub<Request, Answer> {
  /** The answer of a look `inMs` from now; rejects with the signal's reason. */
  ask(request: Request, inMs: number, signal?: AbortSignal): Promise<Answer>
  /** Everyone who still waits gets CLOSED. */
  close(): void
}

/** Who is due this soon joins: fewer queries for many waiters, and nobody notices. */
const SLACK_MS = 10
/** Bounds one query's parameters and answer. */
const LOOKS_MAX = 500

interface Asker<Request, Answer> {
  readonly request: Request
  readonly dueAt: number
  resolve(answer: Answer): void
  reject(error: unknown): void
}

export function createLookHub<Request, Answer>(
  /** Answers in the order of the requests. */
  look: (requests: readonly Request[], signal: AbortSignal) => Promise<readonly Answer[]>,
): LookHub<Request, Answer> {
  const askers = new Set<Asker<Request, Answer>>()
  const closing = new AbortController()
  let timer: NodeJS.Timeout | undefined
  let armedFor = Number.POSITIVE_INFINITY
  let isLooking = false

  const arm = (): void => {
    clearTimeout(timer)
    armedFor = Number.POSITIVE_INFINITY
    if (isLooking || askers.size === 0) return
    for (const asker of askers) armedFor = Math.min(armedFor, asker.dueAt)
    // Not unref'd: who awaits a result wants the process to live until it comes.
    timer = setTimeout(() => void lookOnce(), Math.max(0, armedFor - performance.now()))
  }

  const lookOnce = async (): Promise<void> => {
    const until = performance.now() + SLACK_MS
    const due = [...askers].filter((asker) => asker.dueAt <= until).slice(0, LOOKS_MAX)
    // Everybody who was due may have left.
    if (due.length === 0) return arm()
    isLooking = true
    try {
      const answers = await look(
        due.map((asker) => asker.request),
        closing.signal,
      )
      for (const [index, asker] of due.entries()) asker.resolve(answers[index] as Answer)
    } catch (error) {
      for (const asker of due) asker.reject(error)
    } finally {
      isLooking = false
      arm()
    }
  }

  return {
    ask(request, inMs, signal) {
      return new Promise<Answer>((resolve, reject) => {
        if (closing.signal.aborted) return reject(new FootholdError('CLOSED', {}))
        if (signal?.aborted === true) return reject(signal.reason as Error)
        const leave = (): void => {
          askers.delete(asker)
          signal?.removeEventListener('abort', aborted)
        }
        const asker: Asker<Request, Answer> = {
          request,
          dueAt: performance.now() + inMs,
          resolve(answer) {
            leave()
            resolve(answer)
          },
          reject(error) {
            leave()
            reject(error as Error)
          },
        }
        const aborted = (): void => {
          asker.reject(signal?.reason)
          // The last one's timer must not keep the process alive.
          if (askers.size === 0) arm()
        }
        signal?.addEventListener('abort', aborted, { once: true })
        askers.add(asker)
        if (!isLooking && asker.dueAt < armedFor) arm()
      })
    },
    close() {
      closing.abort(new FootholdError('CLOSED', {}))
      clearTimeout(timer)
      for (const asker of askers) asker.reject(closing.signal.reason)
    },
  }
}
