import { FootholdError } from '../../protocol/errors.ts'
import { PRIORITIES } from '../../protocol/views.ts'
import { type ForeignTable, readForeignTable, type StuckRows } from '../../store/adopt.ts'
import type { Database } from '../../store/database.ts'
import { readAgentNames } from '../../store/read-tasks.ts'
import { newestHandler, queryableOf } from '../../store/submit.ts'
import { suggest } from '../suggest.ts'
import { UsageError } from '../usage-error.ts'
import { wholeNumber } from '../whole-number.ts'
import type { Adoption } from './adopt-rows.ts'

type Values = Readonly<Record<string, string>>

const STALE_SECONDS = 300
const REQUIRED = {
  table: '<schema.name>',
  id: '<column>',
  status: '<column>',
  stuck: '<value,…>',
  agent: '<name>',
  input: '<key=column,…>',
}

/** What the command line asks for, checked against the catalogue: a misspelt column is named before anything is read. */
export async function adoptionOf(
  db: () => Promise<Database>,
  given: { readonly values: Values; readonly isDryRun: boolean; readonly command: string },
): Promise<Adoption> {
  const { values, isDryRun, command } = given
  for (const [option, value] of Object.entries(REQUIRED)) {
    if (values[option] === undefined) throw new UsageError(`--${option} ${value} is missing.`, command)
  }
  const input = inputOf(values['input'] as string, command)
  const priority = PRIORITIES.find((word) => word === values['priority'])
  if (values['priority'] !== undefined && priority === undefined) {
    throw new UsageError(`--priority is one of ${PRIORITIES.join(', ')}.`, command)
  }
  const stale = wholeNumber('--stale-seconds', values['stale-seconds'], { min: 1, max: 31_536_000, command })
  if (stale !== undefined && values['heartbeat'] === undefined) {
    throw new UsageError('--stale-seconds needs --heartbeat <column>: what is it that is stale?', command)
  }
  const limit = wholeNumber('--limit', values['limit'], { min: 1, max: 999_999_999, command })

  const database = await db()
  const table = await requireTable(database, values['table'] as string, command)
  const rows: StuckRows = {
    table,
    input,
    idColumn: values['id'] as string,
    statusColumn: values['status'] as string,
    stuck: (values['stuck'] as string).split(','),
    heartbeat:
      values['heartbeat'] === undefined ? null : { column: values['heartbeat'], staleSeconds: stale ?? STALE_SECONDS },
    tenantColumn: values['tenant'] ?? null,
  }
  checkColumns(rows, command)
  const agent = values['agent'] as string
  const newest = await newestHandler(queryableOf(database, 'looking up an agent'), agent)
  if (newest === null) throw new FootholdError('AGENT_UNKNOWN', { agent, known: await readAgentNames(database) })
  return {
    rows,
    agent,
    handler: newest.handler,
    priority,
    setStatus: values['set-status'],
    limit: limit ?? Number.POSITIVE_INFINITY,
    isDryRun,
  }
}

/** `key=column,key=column`, the same as a JSON object, or one column that holds the whole input. */
function inputOf(text: string, command: string): StuckRows['input'] {
  const wrong = new UsageError(
    `--input: ${JSON.stringify(text.slice(0, 100))} is neither a column, nor key=column,key=column, nor a JSON object of them.`,
    command,
  )
  if (text.startsWith('{')) {
    const parsed = parsedJson(text)
    const members = typeof parsed === 'object' && parsed !== null ? Object.entries(parsed) : []
    if (members.length === 0 || members.some(([, column]) => typeof column !== 'string')) throw wrong
    return Object.fromEntries(members) as Record<string, string>
  }
  if (!text.includes('=')) return text
  const pairs = text.split(',').map((pair) => pair.split('='))
  if (pairs.some(([key, column, ...rest]) => !key || !column || rest.length > 0)) throw wrong
  return Object.fromEntries(pairs) as Record<string, string>
}

function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

async function requireTable(db: Database, name: string, command: string): Promise<ForeignTable> {
  const table = await readForeignTable(db, name)
  if (table !== null) return table
  throw new UsageError(
    `--table: there is no table ${JSON.stringify(name.slice(0, 100))}. Write it as in SQL: schema.name, odd names in double quotes.`,
    command,
  )
}

function checkColumns(
  { table, idColumn, statusColumn, heartbeat, tenantColumn, input }: StuckRows,
  command: string,
): void {
  const asked: [string, string | null | undefined][] = [
    ['--id', idColumn],
    ['--status', statusColumn],
    ['--heartbeat', heartbeat?.column],
    ['--tenant', tenantColumn],
    ...(typeof input === 'string' ? [input] : Object.values(input)).map((column): [string, string] => [
      '--input',
      column,
    ]),
  ]
  for (const [option, column] of asked) {
    if (column === null || column === undefined || table.columns.includes(column)) continue
    const meant = suggest(column, table.columns)
    const hint = meant === null ? `Its columns: ${table.columns.join(', ')}.` : `Did you mean ${JSON.stringify(meant)}?`
    throw new UsageError(
      `${option}: ${table.name} has no column ${JSON.stringify(column.slice(0, 100))}. ${hint}`,
      command,
    )
  }
  if (table.uniqueColumns.includes(idColumn)) return
  const better =
    table.uniqueColumns.length === 0 ? 'It has none that is.' : `Unique are: ${table.uniqueColumns.join(', ')}.`
  throw new UsageError(
    `--id: column ${JSON.stringify(idColumn)} is not unique, and two rows must not become one task. ${better}`,
    command,
  )
}
