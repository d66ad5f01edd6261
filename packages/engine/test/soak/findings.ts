import type pg from 'pg'
import { ZOMBIES } from './audit.ts'
import type { Injected } from './faults.ts'
import { isOfTheServer } from './plan.ts'
import { EFFECTS, expectedSum, type SoakOutput } from './soak-agent.ts'

/** What the run left, read from the attacked database, its audit and the outside world's books. */

export interface Findings {
  readonly accepted: number
  readonly completed: number
  /** Each with what a person would want to know of it; the first few are shown. */
  readonly lost: readonly string[]
  readonly stuck: readonly string[]
  readonly zombies: readonly string[]
  readonly doubled: readonly string[]
  readonly diverged: readonly string[]
  readonly runAgain: readonly string[]
  readonly abandoned: readonly string[]
  /** Writes that were judged: steps and endings. */
  readonly writes: number
  /** Records that a receiver made where once was promised, replies included. */
  readonly onceEffects: number
  readonly repeatable: { readonly tasks: number; readonly repeated: number }
  readonly storedSteps: number
  /** Tasks that a worker held when it was told to stop. */
  readonly heldAtStop: number
  readonly attempts: Readonly<Record<string, number>>
  /** Milliseconds from the fault to the next claim of a task that was held then. */
  readonly recoveries: Readonly<Record<string, readonly number[]>>
}

interface Ground {
  readonly engine: pg.Pool
  readonly books: pg.Pool
  readonly accepted: ReadonlyMap<string, number>
  readonly injected: readonly Injected[]
}

export async function readFindings({ engine, books, accepted, injected }: Ground): Promise<Findings> {
  const all = async <Row>(on: pg.Pool, text: string): Promise<Row[]> => (await on.query(text)).rows as Row[]
  const tasks = new Map(
    (
      await all<TaskRow>(
        engine,
        `select t.id, t.status, t.waiting_for, t.last_reason, t.attempt, p.output from foothold.tasks t join foothold.task_payloads p on p.task_id = t.id`,
      )
    ).map((row) => [row.id, row]),
  )
  const steps = groupBy(
    await all<StepRow>(
      engine,
      `select task_id as task, key, kind, attempt, output from foothold.agent_steps where status = 'completed'`,
    ),
    ({ task }) => task,
  )
  const records = await all<RecordRow>(books, `select id, task, what from records`)
  const replies = await all<{ task: string; mark: string }>(engine, `select task, mark from soak.replies`)
  const executions = await all<ExecutionRow>(books, `select task, what, attempt from executions`)
  const moves = await all<MoveRow>(engine, `select * from soak.moves order by id`)
  const [counted] = await all<{ writes: number }>(
    engine,
    `select ((select count(*) from soak.step_writes) + (select count(*) from soak.endings))::int as writes`,
  )
  const attempts = await all<AttemptRow>(engine, `select task_id as task, attempt, outcome from foothold.attempts`)

  const lost = [...accepted.keys()]
    .filter((id) => !tasks.has(id))
    .map((id) => `${id} was acknowledged and is not there`)
  const stuck = [...tasks.values()]
    .filter(({ status }) => status !== 'completed')
    .map(({ id, status, waiting_for: for_, last_reason: reason }) => `${id} is ${status} (${for_ ?? reason ?? '-'})`)
  const zombies = (await all<{ task: string; said: string }>(engine, ZOMBIES)).map(
    ({ task, said }) => `${task}: ${said}`,
  )

  const doubled: string[] = []
  let onceEffects = 0
  for (const what of ['deal', 'note'] as const) {
    for (const [task, made] of groupBy(
      records.filter((row) => row.what === what),
      (row) => row.task,
    )) {
      onceEffects += 1
      if (made.length > 1) doubled.push(`${task}: ${made.length} records of ${what}, whose receiver ${EFFECTS[what]}`)
    }
  }
  for (const [task, made] of groupBy(replies, (row) => row.task)) {
    onceEffects += 1
    if (made.length > 1) doubled.push(`${task}: ${made.length} replies in its transactions`)
  }

  const diverged: string[] = []
  for (const [id, n] of accepted) {
    const task = tasks.get(id)
    if (task?.status !== 'completed') continue
    const made = records.filter((row) => row.task === id)
    const problem = divergenceOf(
      task.output,
      n,
      steps.get(id) ?? [],
      made,
      replies.filter((row) => row.task === id),
    )
    if (problem !== null) diverged.push(`${id}: ${problem}`)
  }

  const storedAt = new Map([...steps.values()].flat().map((step) => [`${step.task} ${step.key}`, step.attempt]))
  const runAgain = executions
    .filter(({ task, what, attempt }) => attempt > (storedAt.get(`${task} ${what}`) ?? Number.POSITIVE_INFINITY))
    .map(
      ({ task, what, attempt }) =>
        `${task}: ${what} in attempt ${attempt}, stored by attempt ${storedAt.get(`${task} ${what}`)}`,
    )

  const tenures = tenuresOf(moves, attempts)
  const { abandoned, heldAtStop } = judgeStops(tenures, injected)
  return {
    accepted: accepted.size,
    completed: [...tasks.values()].filter(({ status }) => status === 'completed').length,
    lost,
    stuck,
    zombies,
    doubled,
    diverged,
    runAgain,
    abandoned,
    writes: counted?.writes ?? 0,
    onceEffects,
    repeatable: repeatableOf(records),
    storedSteps: storedAt.size,
    heldAtStop,
    attempts: Object.fromEntries(
      [...groupBy(attempts, ({ outcome }) => outcome)].map(([outcome, rows]) => [outcome, rows.length]),
    ),
    recoveries: recoveriesOf(tenures, injected),
  }
}

interface TaskRow {
  readonly id: string
  readonly status: string
  readonly waiting_for: string | null
  readonly last_reason: string | null
  readonly output: SoakOutput | null
}
interface StepRow {
  readonly task: string
  readonly key: string
  readonly kind: string
  readonly attempt: number
  readonly output: unknown
}
interface RecordRow {
  readonly id: string
  readonly task: string
  readonly what: string
}
interface ExecutionRow {
  readonly task: string
  readonly what: string
  readonly attempt: number
}
interface AttemptRow {
  readonly task: string
  readonly attempt: number
  readonly outcome: string
}
interface MoveRow {
  readonly at: Date
  readonly task_id: string
  readonly from_status: string
  readonly to_status: string
  readonly worker_id: string | null
  readonly next_attempt: number
  readonly next_worker_id: string | null
}

/** Null: the output is what the input, the stored steps and the receivers say. */
export function divergenceOf(
  output: SoakOutput | null,
  n: number,
  steps: readonly StepRow[],
  records: readonly RecordRow[],
  replies: readonly { readonly mark: string }[],
): string | null {
  if (output === null) return 'it completed without an output'
  if (output.sum !== expectedSum(n)) return `the sum is ${output.sum}, not ${expectedSum(n)}`
  for (const [key, mark] of Object.entries(output.marks)) {
    const stored = (steps.find((step) => step.key === key)?.output as { mark?: string } | undefined)?.mark
    if (stored !== mark) return `${key} went by ${mark}, stored is ${stored}`
  }
  for (const [what, id] of Object.entries(output.records)) {
    if (!records.some((row) => row.what === what && row.id === id)) return `its receiver has no ${what} ${id}`
    if (steps.find((step) => step.key === `tool_call:${what}`)?.output !== id) return `${what} is stored as another one`
  }
  return replies.some(({ mark }) => mark === output.marks['store']) ? null : 'its reply is not there'
}

/** One worker's hold on one task. */
export interface Tenure {
  readonly task: string
  readonly worker: string
  readonly from: Date
  /** Null: it holds it still. */
  readonly to: Date | null
  /** How its attempt ended. */
  readonly outcome: string | null
}

function tenuresOf(moves: readonly MoveRow[], attempts: readonly AttemptRow[]): readonly Tenure[] {
  const outcomes = new Map(attempts.map(({ task, attempt, outcome }) => [`${task} ${attempt}`, outcome]))
  return [...groupBy(moves, (move) => move.task_id)].flatMap(([task, own]) =>
    own.flatMap((move, n): Tenure[] => {
      if (move.to_status !== 'processing' || move.next_worker_id === null) return []
      const end = own[n + 1]
      const outcome = outcomes.get(`${task} ${move.next_attempt}`) ?? null
      return [{ task, worker: move.next_worker_id, from: move.at, to: end?.at ?? null, outcome }]
    }),
  )
}

const isOfPid = (worker: string, pid: number): boolean => worker.split(':')[1] === String(pid)

function heldAt(tenures: readonly Tenure[], pid: number, at: Date): readonly Tenure[] {
  return tenures.filter(({ worker, from, to }) => isOfPid(worker, pid) && from <= at && (to === null || to > at))
}

/** What a worker that was told to stop, and met nothing else, does not give up by itself costs a lease and a sweep. */
function judgeStops(
  tenures: readonly Tenure[],
  injected: readonly Injected[],
): { readonly abandoned: readonly string[]; readonly heldAtStop: number } {
  const abandoned: string[] = []
  let heldAtStop = 0
  for (const stop of injected.filter(({ kind }) => kind === 'SIGTERM')) {
    if (injected.some((other) => other !== stop && disturbs(other, stop))) continue
    const held = heldAt(tenures, stop.pid, stop.at)
    heldAtStop += held.length
    for (const { task, worker, outcome } of held) {
      if (outcome === 'orphaned' || outcome === null) abandoned.push(`${task} was left by ${worker} at its SIGTERM`)
    }
  }
  return { abandoned, heldAtStop }
}

/** A worker's grace in this run, and what a fault before it may still do. */
const GRACE_MS = 3_500
const AFTERMATH_MS = 3_000

function disturbs(other: Injected, stop: Injected): boolean {
  if (other.kind === 'answer cut' || other.kind === 'request cut') return false
  if (other.pid !== stop.pid && !isOfTheServer(other.kind)) return false
  const afterMs = other.at.getTime() - stop.at.getTime()
  return afterMs > -other.forMs - AFTERMATH_MS && afterMs < GRACE_MS
}

function recoveriesOf(
  tenures: readonly Tenure[],
  injected: readonly Injected[],
): Readonly<Record<string, readonly number[]>> {
  const byTask = groupBy(tenures, ({ task }) => task)
  const recoveries: Record<string, number[]> = {}
  for (const { kind, pid, at } of injected) {
    if (kind !== 'kill -9' && kind !== 'SIGSTOP, long' && kind !== 'SIGTERM') continue
    for (const held of heldAt(tenures, pid, at)) {
      const next = byTask.get(held.task)?.find(({ from }) => from > at)
      // Ended by the one that held it: nothing was to be recovered.
      if (next === undefined || held.outcome === 'completed' || held.outcome === 'waiting') continue
      recoveries[kind] = [...(recoveries[kind] ?? []), next.from.getTime() - at.getTime()]
    }
  }
  return recoveries
}

function repeatableOf(records: readonly RecordRow[]): Findings['repeatable'] {
  const made = groupBy(
    records.filter(({ what }) => what === 'ask'),
    ({ task }) => task,
  )
  return { tasks: made.size, repeated: [...made.values()].reduce((sum, rows) => sum + rows.length - 1, 0) }
}

function groupBy<Row, Key>(rows: readonly Row[], keyOf: (row: Row) => Key): Map<Key, Row[]> {
  const groups = new Map<Key, Row[]>()
  for (const row of rows) {
    const key = keyOf(row)
    const group = groups.get(key)
    if (group === undefined) groups.set(key, [row])
    else group.push(row)
  }
  return groups
}
