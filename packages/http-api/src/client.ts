import { z } from 'zod'
import { refusalOf, unexpectedAnswer, unreachable } from './api-error.ts'
import { CancelAnswer } from './cancellation.ts'
import { type EventConnection, openConnection } from './event-connection.ts'
import { PauseList, type PauseView } from './pause.ts'
import { ROUTES, type Route, relativePath } from './routes.ts'
import { type Submission, SubmissionAnswer } from './submission.ts'
import { type Priority, TaskDetail, TaskPage } from './task.ts'
import type { TaskEvent } from './task-event.ts'
import type { DeadLetterFilter, TaskFilter } from './task-filter.ts'
import { withinTime } from './time-limit.ts'
import { watch } from './watch.ts'
import { toWireValue } from './wire-value.ts'
import { WorkerList, type WorkerView } from './worker.ts'

export interface ClientOptions {
  /** The API's base address, for example http://127.0.0.1:4400 or https://example.com/foothold. */
  readonly url: string | URL
  readonly token?: string | undefined
  readonly fetch?: ((input: string, init?: RequestInit) => Promise<Response>) | undefined
  /** Limit of one request; of an event stream, the limit to its beginning. Default 30,000. */
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
  pauses(options?: CallOptions): Promise<readonly PauseView[]>
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

  async function request(url: string, init: RequestInit & { readonly signal: AbortSignal }): Promise<Response> {
    const headers = new Headers(init.headers)
    if (token !== undefined) headers.set('authorization', `Bearer ${token}`)
    const response = await reaching(url, () => send(url, { ...init, headers }))
    if (response.ok) return response
    throw refusalOf(response, await reaching(url, () => response.text()))
  }

  function call<S extends z.ZodType>(
    route: Route,
    schema: S,
    { id, query = {}, body, signal }: Call,
  ): Promise<z.infer<S>> {
    const url = new URL(relativePath(route, id), base)
    for (const [name, value] of Object.entries(query)) {
      if (value !== undefined) url.searchParams.set(name, String(value))
    }
    const headers = new Headers({ accept: 'application/json' })
    if (body !== undefined) headers.set('content-type', 'application/json')
    const sent = body === undefined ? null : JSON.stringify(body)
    return withinTime(timeoutMs, signal, async (limited) => {
      const response = await request(url.href, { method: route.method, headers, body: sent, signal: limited })
      return parsedAnswer(schema, response, await reaching(url.href, () => response.text()))
    })
  }

  function openEvents(
    url: string,
    after: string | undefined,
    signal: AbortSignal | undefined,
  ): Promise<EventConnection> {
    const headers = new Headers({ accept: 'text/event-stream' })
    if (after !== undefined) headers.set('last-event-id', after)
    return openConnection(timeoutMs, signal, async (limited) => {
      const response = await request(url, { headers, signal: limited })
      const contentType = response.headers.get('content-type') ?? 'no content type'
      if (contentType.startsWith('text/event-stream') && response.body !== null) return response.body
      await response.body?.cancel()
      throw unexpectedAnswer(response, contentType)
    })
  }

  return {
    submit: async (task, { signal } = {}) =>
      call(ROUTES.submit, SubmissionAnswer, { body: submissionOf(task), signal }),
    task: (id, { signal } = {}) => call(ROUTES.task, TaskDetail, { id, signal }),
    tasks: (filter = {}, { signal } = {}) => call(ROUTES.tasks, TaskPage, { query: filter, signal }),
    deadLetters: (filter = {}, { signal } = {}) => call(ROUTES.deadLetters, TaskPage, { query: filter, signal }),
    workers: async ({ signal } = {}) => (await call(ROUTES.workers, WorkerList, { signal })).items,
    pauses: async ({ signal } = {}) => (await call(ROUTES.pauses, PauseList, { signal })).items,
    cancel: (id, { reason, signal } = {}) => call(ROUTES.cancel, CancelAnswer, { id, body: { reason }, signal }),
    resume: (id, { signal } = {}) => call(ROUTES.resume, NOTHING, { id, signal }),
    events: (id, { after, signal } = {}) => {
      const url = new URL(relativePath(ROUTES.events, id), base).href
      const open = (cursor: string | undefined): Promise<EventConnection> => openEvents(url, cursor, signal)
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

const NOTHING = z.void()

/** A body that breaks off is as little an answer as a connection that was refused. */
async function reaching<T>(url: string, send: () => Promise<T>): Promise<T> {
  try {
    return await send()
  } catch (error) {
    throw unreachable(url, error)
  }
}

function parsedAnswer<S extends z.ZodType>(schema: S, response: Response, text: string): z.infer<S> {
  try {
    return schema.parse(text === '' ? undefined : JSON.parse(text))
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
