import { CancelRequest, DeadLetterFilter, type PauseList, TaskFilter, type WorkerList } from '@foothold/http-api'
import { type Foothold, FootholdError } from 'foothold'
import type { Context } from 'hono'
import { parsed, queryOf, taskIdOf } from './parse-request.ts'
import { jsonBody } from './request-body.ts'
import type { ServerEnv } from './server-env.ts'
import { wireDetail, wirePage, wirePause, wireWorker } from './wire-views.ts'

type Handler = (context: Context<ServerEnv>) => Promise<Response>

/** A reason of 500 characters, each at its longest escape, and room for the rest. */
const CANCEL_BYTES_MAX = 16 * 1024

export function tasksRoute(foothold: Foothold): Handler {
  return async (context) => context.json(wirePage(await foothold.tasks(queryOf(context, TaskFilter))))
}

export function deadLettersRoute(foothold: Foothold): Handler {
  return async (context) => {
    const filter = queryOf(context, DeadLetterFilter)
    return context.json(wirePage(await foothold.tasks({ ...filter, status: 'dead_letter' })))
  }
}

export function taskRoute(foothold: Foothold): Handler {
  return async (context) => {
    const id = taskIdOf(context)
    const task = await foothold.task(id)
    if (task === null) throw new FootholdError('TASK_NOT_FOUND', { taskId: id })
    return context.json(wireDetail(task))
  }
}

export function cancelRoute(foothold: Foothold): Handler {
  return async (context) => {
    const id = taskIdOf(context)
    const body = (await jsonBody(context.req.raw, CANCEL_BYTES_MAX)) ?? {}
    return context.json(await foothold.cancel(id, parsed(CancelRequest, body, 'body')))
  }
}

export function resumeRoute(foothold: Foothold): Handler {
  return async (context) => {
    await foothold.resume(taskIdOf(context))
    return context.body(null, 204)
  }
}

export function pausesRoute(foothold: Foothold): Handler {
  return async (context) => {
    const pauses: PauseList = { items: (await foothold.pauses()).map(wirePause) }
    return context.json(pauses)
  }
}

export function workersRoute(foothold: Foothold): Handler {
  return async (context) => {
    const workers: WorkerList = { items: (await foothold.workers()).map(wireWorker) }
    return context.json(workers)
  }
}
