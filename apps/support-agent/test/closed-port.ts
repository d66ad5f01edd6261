import { once } from 'node:events'
import { createServer } from 'node:net'

/**
 * A port of this machine on which nobody listens. Below the range from which the system hands out ports, so that no other
 * test gets it in the meantime.
 */
export async function closedPort(): Promise<number> {
  for (;;) {
    const port = 10_000 + Math.floor(Math.random() * 10_000)
    const server = createServer().listen(port, '127.0.0.1')
    const isFree = await Promise.race([
      once(server, 'listening').then(() => true),
      once(server, 'error').then(() => false),
    ]).catch(() => false)
    if (!isFree) continue
    server.close()
    await once(server, 'close')
    return port
  }
}
