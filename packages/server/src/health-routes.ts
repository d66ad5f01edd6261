import { type Foothold, FootholdError } from 'foothold'
import type { Hono } from 'hono'
import type { ServerEnv } from './server-env.ts'

/** Below the usual probe timeout of a few seconds, so that the probe hears why. */
const READY_TIMEOUT_MS = 2_000

/**
 * Open to everybody and under any Host, because probes come by address and bear nothing. `/healthz` says that the process
 * answers and never asks the database: restarting us would not repair it. `/readyz` says whether work can be taken.
 */
export function addHealthRoutes(app: Hono<ServerEnv>, foothold: Foothold, stopping: AbortSignal | undefined): void {
  let asking: Promise<void> | null = null
  /** However many probes ask, the database is asked once at a time. */
  function ready(): Promise<void> {
    asking ??= foothold.ready({ timeoutMs: READY_TIMEOUT_MS }).finally(() => {
      asking = null
    })
    return asking
  }

  app.get('/healthz', (context) => context.json({ status: 'ok' }, 200, NO_STORE))
  app.get('/readyz', async (context) => {
    if (stopping?.aborted || context.env?.stopping?.aborted) throw new FootholdError('CLOSED', {})
    await ready()
    return context.json({ status: 'ready' }, 200, NO_STORE)
  })
}

const NO_STORE = { 'cache-control': 'no-store' }
