import { METRICS } from './catalogue.ts'
import { type Family, Histogram } from './instruments.ts'

const LOOK_MS = 250

/** Code that keeps the event loop busy holds up everything else of its process, except its heartbeats. */
export function measureEventLoopLag(): { family(): Family; stop(): void } {
  const lag = new Histogram(METRICS.eventLoopLag)
  let lastMs = performance.now()
  const timer = setInterval(() => {
    const nowMs = performance.now()
    lag.observe([], Math.max(0, nowMs - lastMs - LOOK_MS) / 1_000)
    lastMs = nowMs
  }, LOOK_MS).unref()
  return { family: () => lag.family(), stop: () => clearInterval(timer) }
}
