import { setMaxListeners } from 'node:events'

/** setTimeout takes 2^31 - 1 ms at most and fires at once for more. */
const TIMER_MS_MAX = 2 ** 31 - 1

/** Ends early, without an error, when the signal aborts. */
export function sleep(ms: number, signal?: AbortSignal): Promise<'elapsed' | 'aborted'> {
  if (signal?.aborted) return Promise.resolve('aborted')
  return new Promise((resolve) => {
    let leftMs = Number.isNaN(ms) ? 0 : ms
    let timer: NodeJS.Timeout
    const arm = (): void => {
      const partMs = Math.min(Math.max(leftMs, 0), TIMER_MS_MAX)
      leftMs -= partMs
      timer = setTimeout(() => (leftMs > 0 ? arm() : end('elapsed')), partMs)
    }
    const aborted = (): void => end('aborted')
    const end = (how: 'elapsed' | 'aborted'): void => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', aborted)
      resolve(how)
    }
    if (signal !== undefined) {
      // Many sleeps under one signal are normal; each removes its listener, so Node's leak warning would be wrong.
      setMaxListeners(0, signal)
      signal.addEventListener('abort', aborted, { once: true })
    }
    arm()
  })
}
