import type { z } from 'zod'
import { refusalOf, unexpectedAnswer, unreachable } from './api-error.ts'
import { CancelAnswer } from './cancellation.ts'
import { ROUTES, type Route, relativePath } from './routes.ts'
import { type Submission, SubmissionAnswer } from './submission.ts'
import { type Priority, TaskDetail, TaskPage } from './task.ts'
import type { TaskEvent } from './task-event.ts'
import type { DeadLetterFilter, TaskFilter } from './task-filter.ts'
import { watch } from './watch.ts'
import { toWireValue } from './wire-value.ts'
import { WorkerList, type WorkerView } from './worker.ts'

export interface ClientOptions {
  /** The API's base address, for example http://127.0.0.1:4400 or https://example.com/foothold. */
  readonly url: string | URL
  readonly token?: string | undefined
  readonly fetch?: ((input: string, init?: RequestInit) => Promise<Response>) | undefined
  /** Limit of one request, event streams excepted. Default 30,000. */
  readonly timeoutMs?: number | undefined
  /** Before the first reconnection of an event stream, where the server does not say. Default 1,000. */
  readonly reconnectMs?: number | undefined
  /** An event stream that hears nothing for so long throws. Default 300,000. */
  readonly giveUpAfterMs?: number | undefined
}

export interface NewTask {
  readonly agent: string
  readonly input: unknown
  /** Makes a repetition after a lost answer safe: the same key gives the same task. */
  readonly dedupeKey?: string | undefined
  readonly priority?: Priority | undefined
  readonly tenant?: string | undefined
  readonly runAt?: Date | string | undefined
  readonly deadlineAt?: Date | string | undefined
}

export interface CallOptions {
  readonly signal?: AbortSignal | undefined
}

/** Every method throws ApiError. Nothing is repeated but the event stream. */
export interface Client {
  submit(task: NewTask, options?: CallOptions): Promise<SubmissionAnswer>
  task(id: string, options?: CallOptions): Promise<TaskDetail>
  tasks(filter?: TaskFilter, options?: CallOptions): Promise<TaskPage>
  /** Ends after the `end` event; reconnects by itself. Leaving the loop, or the signal, closes it and touches no task. */
  events(id: string, options?: CallOptions & { readonly after?: string | undefined }): AsyncIterable<TaskEvent>
  cancel(id: string, options?: CallOptions & { readonly reason?: string | undefined }): Promise<CancelAnswer>
  resume(id: string, options?: CallOptions): Promise<void>
  workers(options?: CallOptions): Promise<readonly WorkerView[]>
  deadLetters(filter?: DeadLetterFilter, options?: CallOptions): Promise<TaskPage>
}

const TIMEOUT_MS = 30_000
const RECONNECT_MS = 1_000
const GIVE_UP_AFTER_MS = 300_000

export function createClient(options: ClientOptions): Client {
  const base = baseOf(options.url)
  const { token, timeoutMs = TIMEOUT_MS, reconnectMs = RECONNECT_MS, giveUpAfterMs = GIVE_UP_AFTER_MS } = options
  // Wrapped, because a browser's fetch refuses to be called as a method of another object.
  const send = options.fetch ?? ((input: string, init?: RequestInit) => globalThis.fetch(input, init))

  async function request(url: string, init: RequestInit, signal: AbortSignal | undefined): Promise<Response> {
    const headers = new Headers(init.headers)
    if (token !== undefined) headers.set('authorization', `Bearer ${token}`)
    let response: Response
    try {
      response = await send(url, { ...init, headers, ...(signal === undefined ? {} : { signal }) })
    } catch (error) {
      throw unreachable(url, error)
    }
    if (!response.ok) throw await refusalOf(response)
    return response
  }

  async function call(route: Route, { id, query = {}, body, signal }: Call): Promise<Response> {
    const url = new URL(relativePath(route, id), base)
    for (const [name, value] of Object.entries(query)) {
      if (value !== undefined) url.searchParams.set(name, String(value))
    }
    const init: RequestInit = { method: route.method, headers: { accept: 'application/json' } }
    if (body !== undefined) {
      init.headers = { accept: 'application/json', 'content-type': 'application/json' }
      init.body = JSON.stringify(body)
    }
    const limit = AbortSignal.timeout(timeoutMs)
    try {
      return await request(url.href, init, signal === undefined ? limit : AbortSignal.any([limit, signal]))
    } catch (error) {
      signal?.throwIfAborted()
      throw error
    }
  }

  return {
    submit: async (task, { signal } = {}) =>
      read(SubmissionAnswer, await call(ROUTES.submit, { body: submissionOf(task), signal })),
    task: async (id, { signal } = {}) => read(TaskDetail, await call(ROUTES.task, { id, signal })),
    tasks: async (filter = {}, { signal } = {}) => read(TaskPage, await call(ROUTES.tasks, { query: filter, signal })),
    deadLetters: async (filter = {}, { signal } = {}) =>
      read(TaskPage, await call(ROUTES.deadLetters, { query: filter, signal })),
    workers: async ({ signal } = {}) => (await read(WorkerList, await call(ROUTES.workers, { signal }))).items,
    cancel: async (id, { reason, signal } = {}) =>
      read(CancelAnswer, await call(ROUTES.cancel, { id, body: reason === undefined ? {} : { reason }, signal })),
    resume: async (id, { signal } = {}) => {
      await call(ROUTES.resume, { id, signal })
    },
    events: (id, { after, signal } = {}) => {
      const url = new URL(relativePath(ROUTES.events, id), base).href
      const open = async (cursor: string | undefined): Promise<ReadableStream<Uint8Array>> => {
        const headers = new Headers({ accept: 'text/event-stream' })
        if (cursor !== undefined) headers.set('last-event-id', cursor)
        const response = await request(url, { headers }, signal)
        const contentType = response.headers.get('content-type') ?? 'no content type'
        if (!contentType.startsWith('text/event-stream') || response.body === null) {
          await response.body?.cancel()
          throw unexpectedAnswer(response, contentType)
        }
        return response.body
      }
      return watch({ url, open, after, signal, firstDelayMs: reconnectMs, giveUpAfterMs })
    },
  }
}

interface Call {
  readonly id?: string
  readonly query?: Readonly<Record<string, string | number | undefined>>
  readonly body?: unknown
  readonly signal: AbortSignal | undefined
}

async function read<S extends z.ZodType>(schema: S, response: Response): Promise<z.infer<S>> {
  try {
    return schema.parse(await response.json())
  } catch (cause) {
    throw unexpectedAnswer(response, 'a body of an unknown shape', cause)
  }
}

function submissionOf({ input, ...rest }: NewTask): Submission {
  const wire = toWireValue(input)
  if (wire === undefined) throw new TypeError('input: it is undefined, a function or a symbol. Use null for no input.')
  return { ...(toWireValue(rest) as Omit<Submission, 'input'>), input: wire }
}

function baseOf(url: string | URL): URL {
  const base = typeof url === 'string' ? parsed(url) : new URL(url)
  if (base.protocol !== 'http:' && base.protocol !== 'https:') {
    throw new TypeError(`url: ${JSON.stringify(base.protocol)} is no HTTP address. Use http://host:port or https://…`)
  }
  base.search = ''
  base.hash = ''
  if (!base.pathname.endsWith('/')) base.pathname += '/'
  return base
}

function parsed(url: string): URL {
  try {
    return new URL(url)
  } catch (cause) {
    throw new TypeError(`url: ${JSON.stringify(url)} is not an address. Use one like http://127.0.0.1:4400.`, { cause })
  }
}
