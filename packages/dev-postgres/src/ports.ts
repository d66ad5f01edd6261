import { randomInt } from 'node:crypto'
import { createServer } from 'node:net'

// Below every system's range for outgoing connections. Inside it, a client that keeps knocking while PostgreSQL
// is down can be given the very port it knocks at, connect to itself, and keep PostgreSQL from coming back.
const FIRST = 15_000
const LAST = 32_000

export async function pickFreePort(): Promise<number> {
  for (;;) {
    const port = randomInt(FIRST, LAST)
    if (await isFree(port)) return port
  }
}

export function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createServer()
    probe.once('error', () => resolve(false))
    probe.listen(port, '127.0.0.1', () => probe.close(() => resolve(true)))
  })
}
