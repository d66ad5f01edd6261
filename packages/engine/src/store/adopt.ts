import pg from 'pg'
import type { Queryable } from '../protocol/task-context.ts'
import type { Database } from './database.ts'

/**
 * A table of somebody else's, whose stuck rows become tasks. Its names come from a command line: they are looked up in
 * the catalogue first, and stand in statements only in the quotes of an identifier.
 */

export interface ForeignTable {
  readonly schema: string
  readonly name: string
  readonly columns: readonly string[]
  /** Columns each of which alone tells rows apart. */
  readonly uniqueColumns: readonly string[]
}

export interface StuckRows {
  readonly table: ForeignTable
  readonly idColumn: string
  readonly statusColumn: string
  readonly stuck: readonly string[]
  /** Null: every row in such a status is stuck. */
  readonly heartbeat: { readonly column: string; readonly staleSeconds: number } | null
  readonly tenantColumn: string | null
  /** Key of the input to column; a column's name alone: its value is the whole input. */
  readonly input: string | Readonly<Record<string, string>>
}

export interface StuckRow {
  readonly id: string
  readonly tenant: string | null
  /** JSON text. */
  readonly input: string
}

/** `name` as SQL reads it: `tasks`, `shop.tasks`, `shop."Tasks"`. Null: there is no such table. */
export async function readForeignTable(db: Database, name: string): Promise<ForeignTable | null> {
  const rows = await db.run<ForeignTable>(
    `select n.nspname as schema, c.relname as name,
       array(select a.attname::text from pg_attribute a
             where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped order by a.attnum) as columns,
       array(select a.attname::text from pg_index i join pg_attribute a on a.attrelid = c.oid and a.attnum = i.indkey[0]
             where i.indrelid = c.oid and i.indisunique and i.indisvalid and i.indnkeyatts = 1 and i.indpred is null) as "uniqueColumns"
     from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where c.oid = to_regclass($1) and c.relkind in ('r', 'p')`,
    [name],
    { doing: 'looking up a table' },
  )
  return rows[0] ?? null
}

/** The ids behind `after`, in their order; without a lock, so that they are candidates only. */
export async function readStuckIds(
  db: Database,
  rows: StuckRows,
  { after, limit }: { readonly after: string | null; readonly limit: number },
): Promise<readonly string[]> {
  const id = quoted(rows.idColumn)
  const found = await db.run<{ id: string }>(
    `select ${id}::text as id from ${tableOf(rows)}
     where ${isStuck(rows)} and ${id} ${after === null ? 'is not null' : '> $3'}
     order by ${tableOf(rows)}.${id} limit $2`,
    [rows.stuck, limit, ...(after === null ? [] : [after])],
    { doing: 'looking for stuck rows' },
  )
  return found.map((row) => row.id)
}

/** Those of the candidates that are stuck still, locked until the transaction ends; who locks one keeps it. */
export async function lockStuckRows(
  sql: Queryable,
  rows: StuckRows,
  ids: readonly string[],
): Promise<readonly StuckRow[]> {
  const id = quoted(rows.idColumn)
  const found = await sql.query(
    `select ${id}::text as id, ${rows.tenantColumn === null ? 'null' : `${quoted(rows.tenantColumn)}::text`} as tenant,
       (${inputOf(rows)})::text as input
     from ${tableOf(rows)}
     where ${isStuck(rows)} and ${id} = any($2)
     order by ${tableOf(rows)}.${id} for no key update skip locked`,
    [rows.stuck, ids],
  )
  return found.rows as StuckRow[]
}

/** In the transaction that locked them. */
export async function setStatusOf(
  sql: Queryable,
  rows: StuckRows,
  { ids, status }: { readonly ids: readonly string[]; readonly status: string },
): Promise<void> {
  await sql.query(
    `update ${tableOf(rows)} set ${quoted(rows.statusColumn)} = $2 where ${quoted(rows.idColumn)} = any($1)`,
    [ids, status],
  )
}

/** Every statement above takes the stuck statuses as $1; seconds are a number, checked where they came in. */
function isStuck({ statusColumn, heartbeat }: StuckRows): string {
  const inStatus = `${quoted(statusColumn)}::text = any($1::text[])`
  if (heartbeat === null) return inStatus
  const column = quoted(heartbeat.column)
  const seconds = Number(heartbeat.staleSeconds)
  return `${inStatus} and (${column} is null or ${column} < foothold.clock() - interval '1 s' * ${seconds})`
}

function inputOf({ input }: StuckRows): string {
  if (typeof input === 'string') return `to_json(${quoted(input)})`
  const members = Object.entries(input).map(([key, column]) => `${pg.escapeLiteral(key)}, ${quoted(column)}`)
  return `json_build_object(${members.join(', ')})`
}

function tableOf({ table }: StuckRows): string {
  return `${quoted(table.schema)}.${quoted(table.name)}`
}

const quoted = (name: string): string => pg.escapeIdentifier(name)
