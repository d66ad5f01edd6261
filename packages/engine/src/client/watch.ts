import { FootholdError } from '../protocol/errors.ts'
import type { WatchOptions } from '../protocol/foothold.ts'
import type { TaskId } from '../protocol/task-context.ts'
import type { TaskEvent } from '../protocol/views.ts'
import type { Database } from '../store/database.ts'
import { storedErrorOf } from '../store/task-rows.ts'
import { lookAtTasks, readShownTries, STARTED_CHANNEL, type TaskLook } from '../store/watch-tasks.ts'
import { checkOptionNames, shown } from './arguments.ts'
import { createLookHub, type LookHub } from './look-hub.ts'
import { parseTaskId } from './new-id.ts'
import { createWatchView, type LookedTask } from './watch-events.ts'

/** While something is being written: a person sees text come, and one query in this time bears the whole process. */
const LIVE_MS = 100
/** A task that only waits changes seldom. */
const QUIET_MS_MAX = 1_000

/** A position in a task's stream. */
interface Position {
  readonly id: TaskId
  readonly after: bigint
}

export type WatchHub = LookHub<Position, TaskLook | null>

export function createWatchHub(db: Database): WatchHub {
  return createLookHub(async (positions, signal) => {
    const asked = new Map<string, bigint>()
    for (const { id, after } of positions) {
      const known = asked.get(id)
      if (known === undefined || after < known) asked.set(id, after)
    }
    const looks = await lookAtTasks(db, asked, {
      doing: 'watching tasks',
      patienceMs: Number.POSITIVE_INFINITY,
      signal,
    })
    return positions.map(({ id, after }) => {
      const look = looks.get(id)
      if (look === undefined) return null
      return { ...look, chunks: look.chunks.filter((chunk) => BigInt(chunk.id) > after) }
    })
  })
}

export async function* watchTask(
  { db, hub }: { readonly db: Database; readonly hub: WatchHub },
  taskId: string,
  options: WatchOptions,
): AsyncGenerator<TaskEvent, void, void> {
  checkOptionNames('options', options, ['after', 'signal'])
  const { signal } = options
  let after = parseCursor(options.after)
  const id = parseTaskId(taskId)
  if (id === null) throw new FootholdError('TASK_NOT_FOUND', { taskId })
  const doing = 'watching a task'
  const seen = after === 0n ? [] : await readShownTries(db, id, after, { doing })
  const view = createWatchView(new Map(seen.map(({ key, ...tried }) => [key, tried])))
  let inMs = 0
  for (;;) {
    const look = await hub.ask({ id, after }, inMs, signal)
    if (look === null) throw new FootholdError('TASK_NOT_FOUND', { taskId })
    const last = look.chunks.at(-1)
    if (last !== undefined) after = BigInt(last.id)
    const { events, isEnded } = view.next(lookedTask(look))
    for (const event of events) {
      yield event
      signal?.throwIfAborted()
    }
    if (isEnded) return
    inMs = nextLookMs(look, events.length > 0, inMs)
  }
}

function nextLookMs(look: TaskLook, hasNews: boolean, lastMs: number): number {
  if (look.isMore) return 0
  if (look.status === 'processing' || hasNews) return LIVE_MS
  return Math.min(QUIET_MS_MAX, Math.max(LIVE_MS, lastMs * 1.5))
}

function lookedTask(look: TaskLook): LookedTask {
  return {
    ...look,
    steps: look.steps.map((step) => ({ ...step, error: storedErrorOf(step.error) })),
    chunks: look.chunks.map((chunk) => ({ ...chunk, isStart: chunk.channel === STARTED_CHANNEL })),
  }
}

const BIGINT_MAX = 2n ** 63n - 1n

function parseCursor(after: unknown): bigint {
  if (after === undefined) return 0n
  if (typeof after === 'string' && /^\d{1,19}$/.test(after) && BigInt(after) <= BIGINT_MAX) return BigInt(after)
  throw new FootholdError('INVALID_ARGUMENT', {
    field: 'options.after',
    problem: `${shown(after)} is not a cursor`,
    cure: 'Pass the `cursor` of an earlier event, or nothing to begin at the start.',
  })
}
