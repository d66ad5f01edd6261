import { PROBLEM_CONTENT_TYPE, type Problem, toWireValue } from '@foothold/http-api'
import type { Logger } from 'foothold'
import { engineRefusal } from './engine-refusal.ts'
import { HttpProblem } from './http-problem.ts'

export interface Asked {
  readonly requestId: string
  readonly method: string
  readonly path: string
}

/** The one place where an error becomes an answer. */
export function problemAnswer(error: unknown, asked: Asked, logger: ErrorLogger): Response {
  const { requestId } = asked
  const known = error instanceof HttpProblem ? error : engineRefusal(error)
  if (known === null) {
    logger.error({ ...asked, error: describe(error) }, 'an HTTP request failed')
  }
  const { status, code, message, details, headers } = known ?? INTERNAL
  const problem: Problem = {
    type: `urn:foothold:error:${code}`,
    title: titleOf(code),
    status,
    detail: message,
    code,
    details: toWireValue(details) ?? {},
    requestId,
  }
  return new Response(JSON.stringify(problem), {
    status,
    headers: {
      ...headers,
      'content-type': PROBLEM_CONTENT_TYPE,
      'cache-control': 'no-store',
      'x-request-id': requestId,
    },
  })
}

export type ErrorLogger = Pick<Logger, 'error'>

const INTERNAL = new HttpProblem(
  500,
  'INTERNAL',
  'The server failed to answer. Its log says why, under this request id.',
)

/** TASK_NOT_FOUND -> "Task not found" */
function titleOf(code: string): string {
  const words = code.toLowerCase().replaceAll('_', ' ')
  return words.charAt(0).toUpperCase() + words.slice(1)
}

function describe(error: unknown): unknown {
  if (!(error instanceof Error)) return String(error)
  return {
    message: error.message,
    stack: error.stack,
    cause: error.cause instanceof Error ? error.cause.message : null,
  }
}
