import { checkAccess } from './access.ts'
import { type ErrorLogger, problemAnswer } from './problem-answer.ts'
import { requestIdOf } from './request-id.ts'

/** Anything with Hono's `fetch`. */
export interface FetchApp {
  fetch(request: Request, env: object): Response | Promise<Response>
}

const OPEN_PATHS: ReadonlySet<string> = new Set(['/healthz', '/readyz'])

/** The application behind a bearer token; probes pass without. */
export function guardedApp(app: FetchApp, token: string, logger: ErrorLogger): FetchApp {
  const rule = { tokens: [token], allowedHosts: [] }
  return {
    async fetch(request, env) {
      const { pathname } = new URL(request.url)
      if (!OPEN_PATHS.has(pathname)) {
        try {
          checkAccess(rule, request)
        } catch (error) {
          const asked = { requestId: requestIdOf(request), method: request.method, path: pathname }
          return problemAnswer(error, asked, logger)
        }
      }
      return app.fetch(request, env)
    },
  }
}
