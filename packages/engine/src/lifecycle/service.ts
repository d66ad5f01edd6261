import { sleep } from './sleep.ts'

export interface LoopCommon {
  readonly name: string
  /** One round. The signal aborts when the loop is stopped. Must not await the loop's own stop(). */
  run(signal: AbortSignal): void | Promise<void>
  /** Told of every failed round; the loop goes on. */
  onError(error: unknown, name: string): void
  /** Shortens each pause by a random share of up to this much (0 to 1), so that processes drift apart. Default 0. */
  readonly jitterRatio?: number | undefined
  readonly random?: (() => number) | undefined
}

export type LoopOptions =
  /** The pause from the end of one round to the start of the next. */
  | (LoopCommon & { readonly everyMs: number; readonly next?: never })
  /** The same pause, asked for after each round; null: until woken. */
  | (LoopCommon & { next(): number | null; readonly everyMs?: never })

export interface Loop {
  /** Runs at once; while a round runs, once more after it. Any number of calls before that are one. */
  wake(): void
  /** Aborts the round in flight and resolves when it has ended. Every call gives the same promise. */
  stop(): Promise<void>
}

/** After a next() that threw. */
const FALLBACK_PAUSE_MS = 1000

/** The base of the background jobs: the first round at once, never two at a time, until stopped. */
export function startLoop(options: LoopOptions): Loop {
  const stopping = new AbortController()
  let waking = new AbortController()

  const turn = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      waking = new AbortController()
      await round(options, stopping.signal)
      // Also when already woken: a round that always wakes itself must not keep the event loop from others.
      await pause(options, waking.signal)
    }
  }
  // A microtask later, so that the first round may use the loop it belongs to.
  const turning = Promise.resolve().then(turn)

  return {
    wake: () => waking.abort(),
    stop: () => {
      stopping.abort()
      waking.abort()
      return turning
    },
  }
}

async function round(options: LoopOptions, signal: AbortSignal): Promise<void> {
  try {
    await options.run(signal)
  } catch (error) {
    // A round that ends because it was told to has not failed.
    if (!(signal.aborted && isAbort(error, signal))) report(options, error)
  }
}

async function pause(options: LoopOptions, waking: AbortSignal): Promise<void> {
  const pauseMs = pauseAfterRound(options)
  const { jitterRatio = 0, random = Math.random } = options
  const outcome = await sleep(pauseMs === null ? Infinity : pauseMs * (1 - jitterRatio * random()), waking)
  if (outcome === 'aborted') await new Promise((resolve) => setImmediate(resolve))
}

function pauseAfterRound(options: LoopOptions): number | null {
  if (options.next === undefined) return options.everyMs
  try {
    return options.next()
  } catch (error) {
    report(options, error)
    return FALLBACK_PAUSE_MS
  }
}

function isAbort(error: unknown, signal: AbortSignal): boolean {
  return error === signal.reason || (error instanceof Error && error.name === 'AbortError')
}

function report(options: LoopOptions, error: unknown): void {
  try {
    options.onError(error, options.name)
  } catch {
    // The reporter itself failed: nobody is left to tell, and the loop matters more.
  }
}
