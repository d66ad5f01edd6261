import type { Foothold } from 'foothold'
import type { Handler } from 'hono'
import { type AccessRule, checkAccess } from './access.ts'
import type { ServerEnv } from './server-env.ts'

/** What this process measures, in Prometheus' text format. */
export function metricsRoute(foothold: Foothold, rule: AccessRule): Handler<ServerEnv> {
  return async (context) => {
    if (context.env?.callersAreChecked !== true) checkAccess(rule, context.req.raw)
    const { contentType, text } = await foothold.exposition()
    return context.body(text, 200, { 'content-type': contentType, 'cache-control': 'no-store' })
  }
}
