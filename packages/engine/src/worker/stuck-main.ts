import { writeSync } from 'node:fs'
import { wallMs } from '../lifecycle/clock.ts'

/**
 * Ends a process whose main loop does not come back, so that whoever watches over it starts another one; its tasks go on
 * elsewhere. Runs in the heartbeat's thread, where an exit would end that thread alone.
 */
export function endWhenStuck(options: {
  readonly isMainStuck: () => boolean
  readonly workerId: () => string
  readonly stallMs: number
}): void {
  const { isMainStuck, workerId, stallMs } = options
  let looksSeen = 0
  const timer = setInterval(() => {
    looksSeen = isMainStuck() ? looksSeen + 1 : 0
    if (looksSeen * LOOK_MS < CONFIRM_MS) return
    clearInterval(timer)
    say(workerId(), stallMs)
    process.kill(process.pid, 'SIGKILL')
  }, LOOK_MS)
  timer.unref()
}

const LOOK_MS = 250
/** Seen stuck for so long by a thread that ran itself: after a suspend the thread may be awake before the main loop. */
const CONFIRM_MS = 3_000

/** The main loop, which writes the log, will not run again. */
function say(worker: string, stallMs: number): void {
  const message =
    `the main loop has not moved for ${Math.round(stallMs / 1_000)} s: this process ends itself with SIGKILL. ` +
    'A task of this worker computes without a pause, or waits in a synchronous call.'
  const line = { time: new Date(wallMs()).toISOString(), level: 'error', message, worker }
  try {
    writeSync(2, `${JSON.stringify(line)}\n`)
  } catch {
    // Nobody listens.
  }
}
