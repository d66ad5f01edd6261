import type { StandardIssue, StandardSchema } from './standard-schema.ts'

/** The first ones tell what is wrong; a long list of a long array helps nobody and fills the log. */
const ISSUES_MAX = 20

export type Checked =
  | { readonly kind: 'valid'; readonly value: unknown }
  | { readonly kind: 'invalid'; readonly issues: readonly { readonly path: string; readonly message: string }[] }

export async function checkBySchema(schema: StandardSchema, value: unknown): Promise<Checked> {
  const result = await schema['~standard'].validate(value)
  if (result.issues === undefined) return { kind: 'valid', value: result.value }
  const issues = result.issues.slice(0, ISSUES_MAX).map(({ path, message }) => ({ path: pathText(path), message }))
  return { kind: 'invalid', issues }
}

/** `text: is required; client.orders[3].id: …` */
export function issuesText(issues: readonly { readonly path: string; readonly message: string }[]): string {
  return issues.map(({ path, message }) => (path === '' ? message : `${path}: ${message}`)).join('; ')
}

/** `client.orders[3].id` */
function pathText(path: StandardIssue['path'] = []): string {
  return path
    .map((part) => (typeof part === 'object' ? part.key : part))
    .map((key, index) => (typeof key === 'number' ? `[${key}]` : `${index === 0 ? '' : '.'}${String(key)}`))
    .join('')
}
