import { FootholdError, type StandardSchema } from 'foothold'
import type { JsonSchema } from '../port.ts'

/** Part of the Standard JSON Schema interface (https://standardschema.dev/json-schema), which zod 4 and arktype carry. */
interface DescribesItself {
  readonly input: (options: { readonly target: string }) => Record<string, unknown>
}

/** What the model is asked for: the schema's input side, for the output side comes out of its transforms. */
export function jsonSchemaOf(schema: StandardSchema): JsonSchema {
  const standard: { readonly vendor: string; readonly jsonSchema?: DescribesItself } = schema['~standard']
  try {
    const derived = standard.jsonSchema?.input({ target: 'draft-07' })
    if (derived !== undefined) return withoutDialect(derived)
  } catch (cause) {
    throw underivable(standard.vendor, cause)
  }
  throw underivable(standard.vendor)
}

/** Providers compare keyword by keyword, and some refuse one that they do not know. */
function withoutDialect(schema: Record<string, unknown>): JsonSchema {
  return Object.fromEntries(Object.entries(schema).filter(([keyword]) => keyword !== '$schema'))
}

function underivable(vendor: string, cause?: unknown): FootholdError {
  const why = cause instanceof Error ? ` (${cause.message})` : ''
  return new FootholdError(
    'INVALID_ARGUMENT',
    {
      field: 'generate.schema',
      problem: `no JSON Schema can be derived from this ${vendor} schema${why}`,
      cure: 'Pass jsonSchema beside it.',
    },
    { cause },
  )
}
