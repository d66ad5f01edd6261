import { monotonicMs } from '../lifecycle/clock.ts'
import { startThread } from '../lifecycle/thread.ts'
import type { PingRow } from '../store/workers.ts'
import { HEARTBEAT_THREAD_TEXT } from './heartbeat-thread-text.ts'

/** The messages between a worker and its heartbeat thread. */

export interface HeartbeatSettings {
  readonly url: string
  readonly workerId: string
  readonly heartbeatMs: number
  readonly leaseMs: number
  /** Where the main loop says that it moves: milliseconds on the monotonic clock. */
  readonly progress: SharedArrayBuffer
  /** A main loop that has stood still for longer than this is not kept alive: somebody else must have its tasks. */
  readonly stallMs: number
}

/** Busy code may hold up the main loop for minutes; a loop that never ends may not hold its task for ever. */
const STALL_LEASES = 6
const PROGRESS_MS = 500

export interface Sent {
  readonly monotonicMs: number
  readonly wallMs: number
}

export type FromThread =
  | { readonly kind: 'renewed'; readonly workerId: string; readonly sent: Sent; readonly databaseMs: number }
  /** The database counts this worker as lost. */
  | { readonly kind: 'fenced'; readonly workerId: string }
  | { readonly kind: 'ping'; readonly workerId: string; readonly sent: Sent; readonly rows: readonly PingRow[] }
  | { readonly kind: 'pending'; readonly handler: string }
  /** Something was paused, or is not any more. */
  | { readonly kind: 'pauses' }
  | { readonly kind: 'trouble'; readonly message: string }
  | { readonly kind: 'recovered' }

export type ToThread =
  | { readonly kind: 'beat' }
  | { readonly kind: 'running'; readonly running: number }
  | { readonly kind: 'identity'; readonly workerId: string }
  | { readonly kind: 'stop' }

export interface Heartbeat {
  send(message: ToThread): void
  /** Resolves when the last heartbeat has been answered and the thread has ended: no heartbeat follows `stopped`. */
  stop(patienceMs: number): Promise<void>
}

export function startHeartbeat(
  settings: Omit<HeartbeatSettings, 'progress' | 'stallMs'>,
  onMessage: (message: FromThread) => void,
  onDeath: (error: Error) => void,
): Heartbeat {
  const mark = new BigInt64Array(new SharedArrayBuffer(8))
  const progress = (): void => void Atomics.store(mark, 0, BigInt(Math.round(monotonicMs())))
  progress()
  const marking = setInterval(progress, PROGRESS_MS)
  const entry = { url: import.meta.url, name: './heartbeat-thread', text: HEARTBEAT_THREAD_TEXT }
  const thread = startThread(entry, {
    ...settings,
    progress: mark.buffer as SharedArrayBuffer,
    stallMs: STALL_LEASES * settings.leaseMs,
  } satisfies HeartbeatSettings)
  let stopping = false
  const exited = new Promise<void>((resolve) => {
    thread.once('exit', () => {
      clearInterval(marking)
      resolve()
      if (!stopping) onDeath(new Error('The heartbeat thread ended by itself.'))
    })
  })
  thread.on('message', onMessage)
  thread.on('error', onDeath)
  return {
    send(message) {
      progress()
      thread.postMessage(message)
    },
    async stop(patienceMs) {
      stopping = true
      thread.postMessage({ kind: 'stop' } satisfies ToThread)
      // A thread that hangs in a dead connection must not hold up an exit.
      const timer = setTimeout(() => void thread.terminate(), patienceMs)
      await exited
      clearTimeout(timer)
    },
  }
}
