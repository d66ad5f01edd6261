/** Time as a value to hand in, so that tests can move it. Times that are stored come from the database instead. */
export interface Clock {
  /** For durations: never steps back, and the same scale in every thread of the process. */
  monotonicMs(): number
  /** For people and logs: may jump. */
  wallMs(): number
}

/** Not performance.now(): that counts from each thread's own start. */
export function monotonicMs(): number {
  return Number(process.hrtime.bigint()) / 1e6
}

export function wallMs(): number {
  return Date.now()
}

export const systemClock: Clock = { monotonicMs, wallMs }
