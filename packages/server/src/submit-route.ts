import { Submission, type SubmissionAnswer } from '@foothold/http-api'
import type { Agent, Foothold, SubmitOptions, TaskHandle } from 'foothold'
import type { Context } from 'hono'
import { HttpProblem } from './http-problem.ts'
import { parsed } from './parse-request.ts'
import { jsonBody } from './request-body.ts'
import type { ServerEnv } from './server-env.ts'
import type { ServerOptions } from './server-options.ts'

const BODY_BYTES_MAX = 8 * 1024 * 1024

/** 201 for a new task, 200 for the one that its dedupe key gave. */
export function submitRoute(options: ServerOptions): (context: Context<ServerEnv>) => Promise<Response> {
  const { foothold, beforeSubmit, bodyBytesMax = BODY_BYTES_MAX } = options
  const agents = new Map((options.agents ?? []).map((agent) => [agent.name, agent]))
  return async (context) => {
    const given = withKeyOfHeader(submissionOf(await jsonBody(context.req.raw, bodyBytesMax)), context)
    const submission = beforeSubmit === undefined ? given : await beforeSubmit(given, context.req.raw)
    const handle = await submit(foothold, agents, submission)
    const answer: SubmissionAnswer = { id: handle.id, created: handle.created }
    // Relative to /v1/tasks, so that it is right below any base path.
    return context.json(answer, handle.created ? 201 : 200, { location: `tasks/${handle.id}` })
  }
}

function submissionOf(body: unknown): Submission {
  if (body === undefined) {
    throw new HttpProblem(400, 'INVALID_ARGUMENT', 'body: it is empty. Send {"agent": …, "input": …}.')
  }
  return parsed(Submission, body, 'body')
}

function withKeyOfHeader(submission: Submission, context: Context): Submission {
  const key = context.req.header('idempotency-key')
  if (key === undefined || submission.dedupeKey !== undefined) return submission
  return { ...submission, dedupeKey: parsed(Submission.shape.dedupeKey, key, 'Idempotency-Key') }
}

function submit(
  foothold: Foothold,
  agents: ReadonlyMap<string, Agent>,
  { agent, input, dedupeKey, priority, tenant, limitKey, runAt, deadlineAt }: Submission,
): Promise<TaskHandle<unknown>> {
  const options: SubmitOptions = {
    dedupeKey,
    priority,
    tenant,
    limitKey,
    runAt: instant(runAt),
    deadlineAt: instant(deadlineAt),
  }
  const known = agents.get(agent)
  // An Agent's input type is `never` here; its schema checks the value.
  return known === undefined ? foothold.submit(agent, input, options) : foothold.submit(known, input as never, options)
}

function instant(text: string | undefined): Date | undefined {
  return text === undefined ? undefined : new Date(text)
}
