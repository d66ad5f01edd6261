import inspector from 'node:inspector'
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
  /** False: heartbeats alone. */
  readonly lifeline: boolean
  /**
   * Where the main loop says that it moves: milliseconds on the monotonic clock; and behind it the longest time, in
   * milliseconds, for which it did not, to be taken out by the thread.
   */
  readonly progress: SharedArrayBuffer
  /** How often it says so. */
  readonly progressMs: number
  /** A main loop that has stood still for longer than this is not kept alive: somebody else must have its tasks. */
  readonly stallMs: number
  /** False under a debugger, which may hold the main loop for as long as somebody looks. */
  readonly endsWhenStuck: boolean
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
  | {
      readonly kind: 'ping'
      readonly workerId: string
      readonly sent: Sent
      readonly rows: readonly PingRow[]
      /** By the session that answered. */
      readonly isLifelineHeld: boolean
    }
  | { readonly kind: 'pending'; readonly handler: string }
  /** Something was paused, or is not any more. */
  | { readonly kind: 'pauses' }
  /** Declared lost by this worker's lookout. */
  | { readonly kind: 'lost'; readonly workerIds: readonly string[] }
  /** The session that held the lifeline is gone. */
  | { readonly kind: 'broken' }
  /** There is a pooler in between that keeps no session: no lifeline. */
  | { readonly kind: 'pooled' }
  /** No heartbeat is on its way, and none will be. */
  | { readonly kind: 'quiet' }
  | { readonly kind: 'trouble'; readonly message: string }
  | { readonly kind: 'recovered' }

export type ToThread =
  | { readonly kind: 'beat' }
  | { readonly kind: 'running'; readonly running: number }
  | { readonly kind: 'identity'; readonly workerId: string }
  | { readonly kind: 'quiet' }
  | { readonly kind: 'stop' }

export interface Heartbeat {
  send(message: ToThread): void
  /** Resolves when the last heartbeat has been answered, or after this time: no heartbeat follows `stopped`. */
  quiet(patienceMs: number): Promise<void>
  /** Ends the session, and the lifeline with it. Resolves when the thread has ended. */
  stop(patienceMs: number): Promise<void>
}

export function startHeartbeat(
  settings: Omit<HeartbeatSettings, 'progress' | 'progressMs' | 'stallMs' | 'endsWhenStuck'>,
  onMessage: (message: FromThread) => void,
  onDeath: (error: Error) => void,
): Heartbeat {
  const mark = new BigInt64Array(new SharedArrayBuffer(16))
  let lastMs = monotonicMs()
  const progress = (): void => {
    const nowMs = monotonicMs()
    const lagMs = BigInt(Math.max(0, Math.round(nowMs - lastMs - PROGRESS_MS)))
    lastMs = nowMs
    Atomics.store(mark, 0, BigInt(Math.round(nowMs)))
    if (lagMs > Atomics.load(mark, 1)) Atomics.store(mark, 1, lagMs)
  }
  progress()
  const marking = setInterval(progress, PROGRESS_MS)
  const entry = { url: import.meta.url, name: './heartbeat-thread', text: HEARTBEAT_THREAD_TEXT }
  const thread = startThread(entry, {
    ...settings,
    progress: mark.buffer as SharedArrayBuffer,
    progressMs: PROGRESS_MS,
    stallMs: STALL_LEASES * settings.leaseMs,
    endsWhenStuck: inspector.url() === undefined,
  } satisfies HeartbeatSettings)
  let stopping = false
  const exited = new Promise<void>((resolve) => {
    thread.once('exit', () => {
      clearInterval(marking)
      resolve()
      if (!stopping) onDeath(new Error('The heartbeat thread ended by itself.'))
    })
  })
  let isQuiet: () => void = () => undefined
  const quieted = new Promise<void>((resolve) => {
    isQuiet = resolve
  })
  thread.on('message', (message: FromThread) => (message.kind === 'quiet' ? isQuiet() : onMessage(message)))
  thread.on('error', onDeath)
  return {
    send(message) {
      progress()
      thread.postMessage(message)
    },
    async quiet(patienceMs) {
      thread.postMessage({ kind: 'quiet' } satisfies ToThread)
      let timer: NodeJS.Timeout | undefined
      const over = new Promise<void>((resolve) => {
        timer = setTimeout(resolve, patienceMs)
      })
      await Promise.race([quieted, exited, over])
      clearTimeout(timer)
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
