import { createHash } from 'node:crypto'
import { decode } from '../../protocol/codec.ts'
import { isFootholdError } from '../../protocol/errors.ts'
import type { Foothold } from '../../protocol/foothold.ts'
import type { Priority } from '../../protocol/views.ts'
import { lockStuckRows, readStuckIds, type StuckRow, type StuckRows, setStatusOf } from '../../store/adopt.ts'
import type { Database } from '../../store/database.ts'
import { announcePending } from '../../store/settle.ts'

export interface Adoption {
  readonly rows: StuckRows
  readonly agent: string
  readonly handler: string
  readonly priority: Priority | undefined
  /** What the row's status becomes, in the transaction that submits its task. */
  readonly setStatus: string | undefined
  readonly limit: number
  /** All of it, and then a rollback: what it tells is what would happen. */
  readonly isDryRun: boolean
}

/**
 * - `submitted`: a new task
 * - `known`: adopted before, with the same input
 * - `changed`: adopted before with another input, for that task
 * - `refused`: its input, tenant or id cannot be stored
 * - `skipped`: no longer stuck when it was to be locked, or locked by somebody else
 */
export type AdoptedRow = { readonly id: string; readonly dedupeKey: string } & (
  | { readonly outcome: 'submitted' | 'known' | 'changed'; readonly taskId: string; readonly input: string }
  | { readonly outcome: 'refused'; readonly code: string; readonly message: string }
  | { readonly outcome: 'skipped' }
)

/** Bounds the locks and the work of one transaction; what is killed in between loses one batch, which comes again. */
const BATCH = 100

/** Batch by batch, each in a transaction of its own. To do it twice changes nothing: the key of a row is its table and id. */
export async function* adoptRows(
  { foothold, db }: { readonly foothold: Foothold; readonly db: Database },
  adoption: Adoption,
): AsyncGenerator<readonly AdoptedRow[]> {
  let after: string | null = null
  for (let left = adoption.limit; left > 0; ) {
    const ids = await readStuckIds(db, adoption.rows, { after, limit: Math.min(BATCH, left) })
    if (ids.length === 0) return
    const adopted = await adoptBatch({ foothold, db }, adoption, ids)
    if (!adoption.isDryRun && adopted.some((row) => row.outcome === 'submitted')) {
      await announcePending(db, [adoption.handler], { doing: 'announcing tasks' })
    }
    yield adopted
    after = ids.at(-1) as string
    left -= ids.length
  }
}

async function adoptBatch(
  { foothold, db }: { readonly foothold: Foothold; readonly db: Database },
  adoption: Adoption,
  ids: readonly string[],
): Promise<readonly AdoptedRow[]> {
  const session = await db.checkOut()
  let failure: Error | undefined
  try {
    await session.query('begin')
    const locked = new Map((await lockStuckRows(session, adoption.rows, ids)).map((row) => [row.id, row]))
    const adopted: AdoptedRow[] = []
    for (const id of ids) {
      const dedupeKey = keyOf(adoption.rows, id)
      const row = locked.get(id)
      if (row === undefined) adopted.push({ id, dedupeKey, outcome: 'skipped' })
      else adopted.push(await submitRow(foothold, adoption, { row, dedupeKey, transaction: session }))
    }
    const taken = adopted.filter((row) => row.outcome === 'submitted' || row.outcome === 'known').map((row) => row.id)
    if (adoption.setStatus !== undefined && taken.length > 0) {
      await setStatusOf(session, adoption.rows, { ids: taken, status: adoption.setStatus })
    }
    await session.query(adoption.isDryRun ? 'rollback' : 'commit')
    return adopted
  } catch (error) {
    failure = error as Error
    throw error
  } finally {
    // A session that failed is closed, and its transaction with it.
    session.release(failure)
  }
}

/** The row may stand in its table for ever, and be adopted again. */
const DEDUPE_DAYS = 36_500

type Transaction = Parameters<typeof lockStuckRows>[0]

async function submitRow(
  foothold: Foothold,
  { agent, priority }: Adoption,
  { row, dedupeKey, transaction }: { row: StuckRow; dedupeKey: string; transaction: Transaction },
): Promise<AdoptedRow> {
  const { id, input } = row
  try {
    const tenant = row.tenant === null || row.tenant === '' ? undefined : row.tenant
    const handle = await foothold.submit(agent, decode(input), {
      dedupeKey,
      dedupeDays: DEDUPE_DAYS,
      priority,
      tenant,
      transaction,
    })
    return { id, dedupeKey, outcome: handle.created ? 'submitted' : 'known', taskId: handle.id, input }
  } catch (error) {
    if (isFootholdError(error, 'DEDUPE_CONFLICT')) {
      return { id, dedupeKey, outcome: 'changed', taskId: error.details.taskId, input }
    }
    // Refused before anything was sent, so the transaction goes on.
    if (isFootholdError(error, 'INVALID_ARGUMENT') || isFootholdError(error, 'PAYLOAD_TOO_LARGE')) {
      return { id, dedupeKey, outcome: 'refused', code: error.code, message: error.message }
    }
    throw error
  }
}

/** An id of any type has a key, however long it is as text. */
function keyOf({ table }: StuckRows, id: string): string {
  const key = `adopt:${table.schema}.${table.name}:${id}`
  if (Buffer.byteLength(key) <= 512) return key
  return `adopt:sha256:${createHash('sha256').update(key).digest('hex')}`
}
