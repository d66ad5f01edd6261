import type { TaskId } from 'foothold'
import type { Context } from 'hono'
import type { z } from 'zod'
import { invalidArgument } from './http-problem.ts'

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

export function taskIdOf(context: Context): TaskId {
  const id = (context.req.param('id') ?? '').toLowerCase()
  if (!UUID.test(id)) {
    throw invalidArgument('id', { problem: `${JSON.stringify(id.slice(0, 100))} is not a task id, which is a UUID` })
  }
  return id as TaskId
}

/** Each parameter once: `?status=a&status=b` is a mistake that would otherwise show half of what was asked for. */
export function queryOf<S extends z.ZodType>(context: Context, schema: S): z.infer<S> {
  const parameters = Object.entries(context.req.queries())
  const twice = parameters.find(([, values]) => values.length > 1)
  if (twice !== undefined) throw invalidArgument(twice[0], { problem: 'it is given more than once' })
  return parsed(schema, Object.fromEntries(parameters.map(([name, values]) => [name, values[0]])), 'query')
}

export function parsed<S extends z.ZodType>(schema: S, value: unknown, whole: string): z.infer<S> {
  const result = schema.safeParse(value)
  if (result.success) return result.data
  const [issue] = result.error.issues
  const field = issue === undefined || issue.path.length === 0 ? whole : issue.path.join('.')
  const isMissing = issue?.code === 'invalid_type' && valueAt(value, issue.path) === undefined
  const problem = isMissing ? 'it is missing' : (issue?.message ?? 'it is invalid').replace(/\.$/, '')
  throw invalidArgument(field, { problem })
}

function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>((inner, key) => (inner as Record<PropertyKey, unknown> | undefined)?.[key], value)
}
