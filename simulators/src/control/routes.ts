// The routes under /_sim that every simulator has. A service's own come first, so that it can add to them.

import { z } from 'zod'
import { jsonAnswer, type WireAnswer } from '../wire/answer.ts'
import type { WireRequest } from '../wire/request.ts'
import { type Faults, faultRule } from './faults.ts'
import { type Gates, gateRule } from './gates.ts'
import type { Ledger } from './ledger.ts'

export interface ControlRoute {
  readonly method: 'GET' | 'PUT' | 'POST' | 'DELETE'
  /** The path after /_sim/, with `:name` for what the handler is given. */
  readonly path: string
  handle(parameters: Readonly<Record<string, string>>, request: WireRequest): WireAnswer | Promise<WireAnswer>
}

export interface Controlled {
  readonly service: { readonly name: string; readonly controlRoutes: readonly ControlRoute[]; reset(): void }
  readonly ledger: Ledger
  readonly faults: Faults
  readonly gates: Gates
}

const PREFIX = '/_sim/'

export function isControlPath(path: string): boolean {
  return path.startsWith(PREFIX)
}

export async function handleControl(controlled: Controlled, request: WireRequest): Promise<WireAnswer> {
  const routes = [...controlled.service.controlRoutes, ...commonRoutes(controlled)]
  for (const route of routes) {
    const parameters = request.method === route.method ? match(route.path, request.path.slice(PREFIX.length)) : null
    if (parameters === null) continue
    try {
      return await route.handle(parameters, request)
    } catch (error) {
      if (error instanceof BadControlRequest) return jsonAnswer(400, { error: error.message })
      throw error
    }
  }
  const known = routes.map(({ method, path }) => `${method} ${PREFIX}${path}`)
  return jsonAnswer(404, { error: `no control route ${request.method} ${request.path}`, known })
}

/** The body, checked; a wrong one is answered 400 with the field and what is wrong with it. */
export function readBody<Schema extends z.ZodType>(schema: Schema, request: WireRequest): z.output<Schema> {
  if (request.body.kind === 'broken') throw new BadControlRequest(`the body is not JSON: ${request.body.problem}`)
  const value = request.body.kind === 'none' ? {} : request.body.value
  const parsed = schema.safeParse(value)
  if (!parsed.success) throw new BadControlRequest(z.prettifyError(parsed.error))
  return parsed.data
}

class BadControlRequest extends Error {}

function commonRoutes({ service, ledger, faults, gates }: Controlled): ControlRoute[] {
  const done = (): WireAnswer => jsonAnswer(200, { ok: true })
  const missing = (what: string): WireAnswer => jsonAnswer(404, { error: `no ${what}` })
  return [
    {
      method: 'GET',
      path: 'ledger',
      handle: (_, { query }) => jsonAnswer(200, ledger.view(wholeNumber(query, 'after', 0))),
    },
    {
      method: 'GET',
      path: 'ledger/wait',
      handle: async (_, { query }) => {
        const least = {
          received: wholeNumber(query, 'received', 0),
          committed: wholeNumber(query, 'committed', 0),
          ended: wholeNumber(query, 'ended', 0),
        }
        return jsonAnswer(200, await ledger.waitFor(least, waitMs(query)))
      },
    },
    {
      method: 'DELETE',
      path: 'ledger',
      handle: () => {
        ledger.clear()
        return done()
      },
    },
    {
      method: 'POST',
      path: 'faults',
      handle: (_, request) => jsonAnswer(201, { id: faults.add(readBody(faultRule, request)) }),
    },
    { method: 'GET', path: 'faults', handle: () => jsonAnswer(200, { faults: faults.list() }) },
    {
      method: 'DELETE',
      path: 'faults',
      handle: () => {
        faults.clear()
        return done()
      },
    },
    {
      method: 'DELETE',
      path: 'faults/:id',
      handle: ({ id = '' }) => (faults.remove(id) ? done() : missing(`fault ${id}`)),
    },
    {
      method: 'POST',
      path: 'gate',
      handle: (_, request) => {
        const rule = readBody(gateRule, request)
        gates.add(rule)
        return jsonAnswer(201, gates.state(rule.name))
      },
    },
    {
      method: 'GET',
      path: 'gate/:name',
      handle: ({ name = '' }) => jsonAnswer(...stateOr404(gates.state(name), name)),
    },
    {
      method: 'GET',
      path: 'gate/:name/wait',
      handle: async ({ name = '' }, { query }) => {
        const least = { waiting: wholeNumber(query, 'count', 1), abandoned: wholeNumber(query, 'abandoned', 0) }
        const state = await gates.waitFor(name, least, waitMs(query))
        return jsonAnswer(...stateOr404(state, name))
      },
    },
    {
      method: 'POST',
      path: 'gate/:name/open',
      handle: ({ name = '' }) => (gates.open(name) ? jsonAnswer(200, gates.state(name)) : missing(`gate ${name}`)),
    },
    {
      method: 'POST',
      path: 'reset',
      handle: () => {
        gates.openAll()
        faults.clear()
        service.reset()
        ledger.clear()
        return done()
      },
    },
  ]
}

function stateOr404(state: unknown, name: string): [number, unknown] {
  return state === undefined ? [404, { error: `no gate ${name}` }] : [200, state]
}

// Longer than any step of a test waits; the caller asks again when it wants more.
const WAIT_MS_MAX = 60_000

function waitMs(query: URLSearchParams): number {
  return Math.min(wholeNumber(query, 'timeoutMs', 25_000), WAIT_MS_MAX)
}

function wholeNumber(query: URLSearchParams, name: string, otherwise: number): number {
  const text = query.get(name)
  if (text === null) return otherwise
  if (!/^\d{1,9}$/.test(text)) throw new BadControlRequest(`${name} must be a whole number, not "${text}"`)
  return Number(text)
}

function match(pattern: string, path: string): Record<string, string> | null {
  const names = pattern.split('/')
  const parts = path.split('/')
  if (names.length !== parts.length) return null
  const parameters: Record<string, string> = {}
  for (const [index, name] of names.entries()) {
    const part = parts[index] ?? ''
    if (name.startsWith(':')) parameters[name.slice(1)] = part
    else if (name !== part) return null
  }
  return parameters
}
