import type { TaskEvent as WireEvent } from '@foothold/http-api'

/** Server-sent events as text. JSON has no bare line breaks, so `data` is always one line. */

export function eventFrame(event: WireEvent): string {
  const id = 'cursor' in event ? `id: ${event.cursor}\n` : ''
  return `${id}event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`
}

export function retryFrame(ms: number): string {
  return `retry: ${ms}\n\n`
}

/** Holds the connection in proxies that cut what is silent, and tells a watcher that it is still there. */
export const KEEP_ALIVE_FRAME = ': still here\n\n'
