import { FootholdError } from '../protocol/errors.ts'
import { checkKey, checkName } from '../protocol/names.ts'
import { type Page, TASK_STATUSES, type TaskFilter, type TaskSummary } from '../protocol/views.ts'
import type { Database } from '../store/database.ts'
import { readTasks, requireWritable } from '../store/read-tasks.ts'
import { checkOneOf, checkOptionNames, checkWholeNumber } from './arguments.ts'
import { parseTaskId } from './new-id.ts'

const PAGE_DEFAULT = 50
/** One page is read into memory and sent whole. */
const PAGE_MAX = 200
const READY_MS = 5_000

export async function listTasks(db: Database, filter: TaskFilter): Promise<Page<TaskSummary>> {
  checkOptionNames('filter', filter, ['status', 'agent', 'tenant', 'cursor', 'limit'])
  const { status, agent, tenant, cursor, limit = PAGE_DEFAULT } = filter
  if (status !== undefined) checkOneOf('filter.status', status, TASK_STATUSES)
  if (agent !== undefined) checkAgentFilter(agent)
  if (tenant !== undefined) checkKey('filter.tenant', tenant)
  checkWholeNumber('filter.limit', limit, { min: 1, max: PAGE_MAX })
  const before = cursor === undefined ? null : parseTaskId(cursor)
  if (cursor !== undefined && before === null) {
    throw new FootholdError('INVALID_ARGUMENT', {
      field: 'filter.cursor',
      problem: 'it is not a cursor',
      cure: 'Pass the nextCursor of the page before.',
    })
  }
  // One more than asked tells whether there is a next page.
  const rows = await readTasks(db, {
    status: status ?? null,
    agent: agent ?? null,
    tenant: tenant ?? null,
    before,
    limit: limit + 1,
  })
  const items = rows.slice(0, limit)
  return { items, nextCursor: rows.length > limit ? (items.at(-1)?.id ?? null) : null }
}

/** `support/dead_letter` is the agent of a dead letter's follow-up. */
function checkAgentFilter(agent: unknown): void {
  checkName('filter.agent', typeof agent === 'string' ? agent.replace(/\/dead_letter$/, '') : agent)
}

export async function requireReady(db: Database, options: { readonly timeoutMs?: number | undefined }): Promise<void> {
  checkOptionNames('options', options, ['timeoutMs'])
  const { timeoutMs = READY_MS } = options
  checkWholeNumber('options.timeoutMs', timeoutMs, { min: 1, max: 600_000 })
  const doing = 'checking that it takes writes'
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () => reject(new FootholdError('DATABASE_UNAVAILABLE', { doing, waitedMs: timeoutMs })),
      timeoutMs,
    )
  })
  try {
    // A statement that hangs has a longer limit of its own than a probe can wait.
    await Promise.race([requireWritable(db, { doing, patienceMs: timeoutMs }), late])
  } finally {
    clearTimeout(timer)
  }
}
