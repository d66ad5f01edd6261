import type { StandardSchema } from 'foothold'
import { parseJson } from '../wire/json.ts'

export type Parsed<Output> =
  | { readonly kind: 'fits'; readonly value: Output }
  | { readonly kind: 'problems'; readonly problems: readonly string[] }

/** They go back to the model and into an error: enough of them to act on. */
const PROBLEMS_MAX = 20
const PROBLEM_CHARACTERS_MAX = 300

/** The JSON document in a model's answer, checked by the schema. */
export async function parseStructured<Output>(
  text: string,
  schema: StandardSchema<unknown, Output>,
): Promise<Parsed<Output>> {
  const found = findJson(text)
  if (found === null) return { kind: 'problems', problems: ['the answer is not one JSON document'] }
  const result = await schema['~standard'].validate(found.value)
  if (result.issues === undefined) return { kind: 'fits', value: result.value }
  const problems = result.issues.slice(0, PROBLEMS_MAX).map(({ message, path }) => {
    const where = (path ?? []).map((part) => String(typeof part === 'object' ? part.key : part)).join('.')
    return (where === '' ? message : `${where}: ${message}`).slice(0, PROBLEM_CHARACTERS_MAX)
  })
  return { kind: 'problems', problems }
}

/** Models wrap JSON in a fence, or in a sentence before and after, however they are asked. */
function findJson(text: string): { readonly value: unknown } | null {
  for (const candidate of candidates(text)) {
    try {
      return { value: parseJson(candidate) }
    } catch {
      // The next reading may be the right one.
    }
  }
  return null
}

function* candidates(text: string): Generator<string> {
  yield text.trim()
  // One way to match at each place: an answer of a hundred thousand line breaks must not stall the worker.
  for (const fence of text.matchAll(/```[^\n`]*\n([\s\S]*?)```/g)) yield fence[1] as string
  yield* between(text, '{', '}')
  yield* between(text, '[', ']')
}

function* between(text: string, open: string, close: string): Generator<string> {
  const start = text.indexOf(open)
  const end = text.lastIndexOf(close)
  if (start >= 0 && end > start) yield text.slice(start, end + 1)
}
