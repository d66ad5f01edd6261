import { EventsQuery } from '@foothold/http-api'
import { isFootholdError } from 'foothold'
import type { Context } from 'hono'
import { openEventStream } from './event-stream.ts'
import { HttpProblem } from './http-problem.ts'
import { parsed, queryOf, taskIdOf } from './parse-request.ts'
import type { ErrorLogger } from './problem-answer.ts'
import type { ServerEnv } from './server-env.ts'
import type { ServerOptions } from './server-options.ts'

const KEEP_ALIVE_MS = 15_000
/** Each stream holds a socket and a place in the engine's fan-out; a page that leaks them must not take the server. */
const STREAMS_MAX = 1_000

export function eventRoute(
  { foothold, keepAliveMs = KEEP_ALIVE_MS, stopping: appStopping }: ServerOptions,
  logger: ErrorLogger,
): (context: Context<ServerEnv>) => Promise<Response> {
  let openCount = 0
  return async (context) => {
    const id = taskIdOf(context)
    const after = cursorOf(context)
    const stopping = [appStopping, context.env?.stopping].filter((signal) => signal !== undefined)
    if (stopping.some((signal) => signal.aborted))
      throw unavailable('STOPPING', 'The server is stopping: come back in a moment.')
    if (openCount >= STREAMS_MAX) throw unavailable('STREAMS_TOO_MANY', `${STREAMS_MAX} event streams are open here.`)
    const handle = foothold.handle(id)
    // Says TASK_NOT_FOUND.
    await handle.state()
    if (context.req.raw.method === 'HEAD') return new Response(null, { headers: HEADERS })

    openCount += 1
    const stream = await openEventStream({
      watch: (signal) => handle.watch({ after, signal }),
      stopping,
      keepAliveMs,
      onFailure: (error) => {
        // The engine was closed under us: no fault, and the watcher comes back.
        if (isFootholdError(error, 'CLOSED')) return
        const requestId = context.get('requestId')
        logger.error({ requestId, taskId: id, error: String(error) }, 'an event stream broke')
      },
      onClose: () => {
        openCount -= 1
      },
    })
    return new Response(stream, { headers: HEADERS })
  }
}

/** no-transform: compressing middleware would hold chunks back. X-Accel-Buffering: the same, for nginx. */
const HEADERS = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-store, no-transform',
  'x-accel-buffering': 'no',
}

/** A browser that reconnects repeats the address it began with, so its header is the newer word. */
function cursorOf(context: Context): string | undefined {
  const { after } = queryOf(context, EventsQuery)
  const header = context.req.header('last-event-id')
  return header === undefined || header === '' ? after : parsed(EventsQuery.shape.after, header, 'Last-Event-ID')
}

function unavailable(code: string, message: string): HttpProblem {
  return new HttpProblem(503, code, message, { headers: { 'retry-after': '2' } })
}
