import { ROUTES } from '@foothold/http-api'
import { Hono } from 'hono'
import { checkAccess, checkToken } from './access.ts'
import { errorLogger } from './error-logger.ts'
import { eventRoute } from './event-route.ts'
import { addHealthRoutes } from './health-routes.ts'
import { HttpProblem } from './http-problem.ts'
import { metricsRoute } from './metrics-route.ts'
import { addPageRoutes } from './page-routes.ts'
import { problemAnswer } from './problem-answer.ts'
import { requestIdOf } from './request-id.ts'
import type { ServerEnv } from './server-env.ts'
import type { ServerOptions } from './server-options.ts'
import { submitRoute } from './submit-route.ts'
import {
  cancelRoute,
  deadLettersRoute,
  pausesRoute,
  resumeRoute,
  taskRoute,
  tasksRoute,
  workersRoute,
} from './task-routes.ts'

/**
 * The whole server as a value: `app.request('/v1/tasks')` in a test, `app.route('/foothold', …)` in a Hono app,
 * `getRequestListener(app.fetch)` of @hono/node-server in Express, or `serve()`.
 */
export function createServer(options: ServerOptions): Hono<ServerEnv> {
  const { foothold, token, metricsToken, page = true, allowedHosts = [] } = options
  const tokens = token === undefined ? [] : [token]
  // Alone it would leave the API open to whoever reaches the address.
  const metricsTokens = token === undefined || metricsToken === undefined ? tokens : [token, metricsToken]
  for (const each of metricsTokens) checkToken(each)
  const rule = { tokens, allowedHosts: allowedHosts.map((name) => name.toLowerCase()) }
  const logger = errorLogger(options.logger)

  const app = new Hono<ServerEnv>()
  app.onError((error, context) => {
    const { method, path } = context.req
    return problemAnswer(error, { requestId: context.get('requestId'), method, path }, logger)
  })
  app.use('*', async (context, next) => {
    const requestId = requestIdOf(context.req.raw)
    context.set('requestId', requestId)
    await next()
    context.res.headers.set('x-request-id', requestId)
    context.res.headers.set('x-content-type-options', 'nosniff')
  })

  addHealthRoutes(app, foothold, options.stopping)
  app.get('/metrics', metricsRoute(foothold, { ...rule, tokens: metricsTokens }))
  if (page) addPageRoutes(app)

  app.use('/v1/*', async (context, next) => {
    if (context.env?.callersAreChecked !== true) checkAccess(rule, context.req.raw)
    await next()
    if (!context.res.headers.has('cache-control')) context.res.headers.set('cache-control', 'no-store')
  })
  app.on(ROUTES.submit.method, ROUTES.submit.path, submitRoute(options))
  app.on(ROUTES.tasks.method, ROUTES.tasks.path, tasksRoute(foothold))
  app.on(ROUTES.task.method, ROUTES.task.path, taskRoute(foothold))
  app.on(ROUTES.events.method, ROUTES.events.path, eventRoute(options, logger))
  app.on(ROUTES.cancel.method, ROUTES.cancel.path, cancelRoute(foothold))
  app.on(ROUTES.resume.method, ROUTES.resume.path, resumeRoute(foothold))
  app.on(ROUTES.workers.method, ROUTES.workers.path, workersRoute(foothold))
  app.on(ROUTES.pauses.method, ROUTES.pauses.path, pausesRoute(foothold))
  app.on(ROUTES.deadLetters.method, ROUTES.deadLetters.path, deadLettersRoute(foothold))

  for (const [path, methods] of methodsByPath()) {
    app.all(path, (context) => {
      const allow = methods.join(', ')
      throw new HttpProblem(405, 'METHOD_NOT_ALLOWED', `${path} takes ${allow}, not ${context.req.method}.`, {
        headers: { allow },
      })
    })
  }
  app.all('*', (context) => {
    throw new HttpProblem(404, 'ROUTE_NOT_FOUND', `There is nothing at ${context.req.method} ${context.req.path}.`)
  })
  return app
}

function methodsByPath(): ReadonlyMap<string, readonly string[]> {
  const methods = new Map<string, string[]>()
  for (const { method, path } of Object.values(ROUTES)) {
    methods.set(path, [...(methods.get(path) ?? []), method])
  }
  return methods
}
