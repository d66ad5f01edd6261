import { isDeepStrictEqual } from 'node:util'
import pg from 'pg'
import { connect } from '../foothold.ts'
import { attachProbe } from '../lifecycle/probe.ts'
import type { Agent } from '../protocol/agent.ts'
import type { Decision, Foothold, TaskHandle } from '../protocol/foothold.ts'
import type { TaskId } from '../protocol/task-context.ts'
import { openDatabase } from '../store/database.ts'
import { promoteTasks } from '../store/promote.ts'
import { announcePending } from '../store/settle.ts'
import { sweepTasks } from '../store/sweep.ts'
import { createTestDatabase } from './database.ts'
import { type KilledAt, type KillOutcome, type KillReport, killReport, nameOfPoint } from './kill-report.ts'
import { beginLife, type Life } from './severed-life.ts'
import { brokenPromise, type Sent, watchedAgent } from './watched-agent.ts'

/**
 * Runs an agent once undisturbed, then once for each point that it came by, and there the worker dies: nothing of it
 * reaches the database any more, and the engine stands still. Another worker goes on. What a step's own code has under
 * way at that moment goes on too, as a request that has left does.
 */
export interface SurviveKillsOptions<Output> {
  /** Of a server on which this role may create databases; the runs have one of their own. */
  readonly adminUrl: string
  /** Before each run: the outside world begins anew. */
  readonly before?: (() => void | Promise<void>) | undefined
  /** During each run, from its submission on: the signals that the task waits for. */
  readonly meanwhile?: ((run: { readonly id: TaskId; readonly foothold: Foothold }) => void | Promise<void>) | undefined
  /** After each run: what the receivers have of it, one value for each thing that was done. */
  readonly outside?: ((run: { readonly id: TaskId }) => readonly unknown[] | Promise<readonly unknown[]>) | undefined
  /** Default: deeply equal. For outputs that bear times or ids. */
  readonly isSameOutput?: ((output: Output, undisturbed: Output) => boolean) | undefined
  /** Of one run. Default 20,000. Sleeps and back-offs are cut short. */
  readonly timeoutMs?: number | undefined
}

/** @throws KillsNotSurvivedError, whose message is the report. */
export async function surviveKills<Input, Output>(
  agent: Agent<string, Input, Output>,
  input: NoInfer<Input>,
  options: SurviveKillsOptions<Output>,
): Promise<KillReport> {
  const trial = await beginTrial(agent as Agent, input, options as SurviveKillsOptions<unknown>)
  try {
    const undisturbed = await trial.run(null)
    if (undisturbed.problem !== null)
      throw new KillsNotSurvivedError(`${agent.name} undisturbed: ${undisturbed.problem}`, null)
    const outcomes: KillOutcome[] = []
    for (const at of undisturbed.passed) {
      const { problem, repeated, isKilled } = await trial.run(at, undisturbed)
      outcomes.push({ ...at, problem, repeated, isKilled })
    }
    const report = killReport(agent.name, outcomes)
    const failed = outcomes.find(({ problem }) => problem !== null)
    if (failed !== undefined) throw new KillsNotSurvivedError(report.text, report, nameOfPoint(failed))
    return report
  } finally {
    await trial.end()
  }
}

export class KillsNotSurvivedError extends Error {
  override readonly name = 'KillsNotSurvivedError'
  /** Null: it did not even complete undisturbed. */
  readonly report: KillReport | null

  constructor(text: string, report: KillReport | null, firstPoint?: string) {
    super(firstPoint === undefined ? text : `killed at ${firstPoint} it did not survive\n${text}`)
    this.report = report
  }
}

interface Ran {
  readonly problem: string | null
  readonly output: unknown
  readonly outside: readonly unknown[]
  readonly passed: readonly KilledAt[]
  readonly repeated: readonly string[]
  readonly isKilled: boolean
}

interface Trial {
  run(killAt: KilledAt | null, undisturbed?: Ran): Promise<Ran>
  end(): Promise<void>
}

const TIMEOUT_MS = 20_000
const LOOK_MS = 15

async function beginTrial(agent: Agent, input: unknown, options: SurviveKillsOptions<unknown>): Promise<Trial> {
  const { timeoutMs = TIMEOUT_MS, isSameOutput = isDeepStrictEqual } = options
  let sent: Sent[] = []
  const watched = watchedAgent(agent, (one) => sent.push(one))
  const database = await createTestDatabase(options.adminUrl)
  const foothold = await connect(database.url, { migrate: false, logger: 'silent' })
  const db = openDatabase({ url: database.url, poolSize: 1 })
  const look = new pg.Pool({ connectionString: database.url, max: 1 })
  look.on('error', () => undefined)
  const burials: Promise<void>[] = []
  let life = await beginLife(database.url, watched)
  const announce = (): Promise<void> =>
    announcePending(db, [`${agent.name}@${agent.version}`], { doing: 'announcing a task', patienceMs: 0 })
  const hurried = async (): Promise<void> => {
    await promoteTasks(db)
    await announce()
  }

  const run = async (killAt: KilledAt | null, undisturbed?: Ran): Promise<Ran> => {
    await options.before?.()
    sent = []
    const passed: KilledAt[] = []
    let die: (dead: Life) => void = () => undefined
    const died = new Promise<Life>((resolve) => {
      die = resolve
    })
    const fate: { dead: Life | null } = { dead: null }
    attachProbe((point, { key }) => {
      // Nobody else lives now: whoever comes by is of the life that has ended.
      if (fate.dead === life) return new Promise<void>(() => undefined)
      const nth = passed.filter((one) => one.point === point && one.key === key).length + 1
      passed.push({ point, key, nth })
      if (fate.dead !== null || killAt?.point !== point || killAt.key !== key || killAt.nth !== nth) return
      fate.dead = life
      life.sever()
      die(life)
      return new Promise<void>(() => undefined)
    })

    const handle = (await foothold.submit(agent as never, input as never)) as TaskHandle<unknown>
    const { id } = handle
    const meanwhile = Promise.resolve(options.meanwhile?.({ id, foothold })).then(
      () => null,
      (error: unknown) => `meanwhile() threw: ${String(error)}`,
    )
    const ended = endOf({ id, foothold, hurried, look, sent: () => sent, timeoutMs })
    const first = await Promise.race([ended, died])
    if (typeof first === 'object' && first !== null && 'sever' in first) {
      await declareLost(first.workerId)
      burials.push(first.bury().catch(() => undefined))
      life = await beginLife(database.url, watched)
      // After it has come up: it need not find by itself what it hears of.
      await sweepTasks(db)
      await announce()
    }
    const end = await ended
    attachProbe(null)
    // Dead at its very last point, after the end: the next run needs somebody who lives.
    if (fate.dead === life) {
      burials.push(life.bury().catch(() => undefined))
      life = await beginLife(database.url, watched)
    }
    const isKilled = fate.dead !== null
    const outside = (await options.outside?.({ id })) ?? []
    const problem =
      (await meanwhile) ??
      end ??
      (killAt?.key != null && fate.dead === null
        ? 'it did not come by here again: its way is not the same each time'
        : null)
    if (problem !== null) return { problem, output: null, outside, passed, repeated: [], isKilled }
    const own = sent.filter(({ taskId }) => taskId === id)
    const output = await handle.result({ timeoutMs })
    return {
      problem:
        undisturbed === undefined ? null : (differenceOf(undisturbed, { output, outside }) ?? brokenPromise(own)),
      output,
      outside,
      passed,
      isKilled,
      repeated: [...new Set(own.map(({ key }) => key))].filter(
        (key) => own.filter((one) => one.key === key).length > 1,
      ),
    }
  }

  const differenceOf = (undisturbed: Ran, { output, outside }: Pick<Ran, 'output' | 'outside'>): string | null => {
    if (!isSameOutput(output, undisturbed.output)) {
      return `another output: ${shown(output)} instead of ${shown(undisturbed.output)}`
    }
    if (outside.length === undisturbed.outside.length) return null
    return `the outside world has ${outside.length} things done, ${undisturbed.outside.length} undisturbed: ${shown(outside)}`
  }

  /** At once, not after its lease: what a steady neighbour would find in the end. */
  const declareLost = async (workerId: string): Promise<void> => {
    await look.query(
      `update foothold.workers w set status = 'lost', lost_while = w.status,
         lost_running = (select count(*) from foothold.tasks t where t.worker_id = w.id and t.status = 'processing')
       where id = $1 and status in ('active', 'draining')`,
      [workerId],
    )
  }

  return {
    run,
    async end() {
      attachProbe(null)
      await Promise.allSettled([life.bury(), ...burials])
      await Promise.allSettled([foothold.close(), db.close(), look.end()])
      await database.drop()
    },
  }
}

interface Watching {
  readonly id: TaskId
  readonly foothold: Foothold
  /** Something has been made due. */
  readonly hurried: () => Promise<void>
  readonly look: pg.Pool
  readonly sent: () => readonly Sent[]
  readonly timeoutMs: number
}

/** Null when it completed. Nobody waits for a sleep, and where a person is asked, the truth is told. */
async function endOf({ id, foothold, hurried, look, sent, timeoutMs }: Watching): Promise<string | null> {
  const endsAt = Date.now() + timeoutMs
  for (;;) {
    const { rows } = await look.query<{
      status: string
      waiting_for: string | null
      last_reason: string | null
      error: unknown
    }>(
      `select t.status, t.waiting_for, t.last_reason, p.error
       from foothold.tasks t join foothold.task_payloads p on p.task_id = t.id where t.id = $1`,
      [id],
    )
    const [task] = rows
    if (task?.status === 'completed') return null
    if (task?.status === 'dead_letter' || task?.status === 'cancelled') {
      return `it ended as ${task.status}, ${task.last_reason}: ${shown(task.error)}`
    }
    if (task?.waiting_for === 'sleep' || task?.waiting_for === 'retry') await hurry(look, id).then(hurried)
    if (task?.waiting_for === 'person') await tellTruth(foothold, look, id, sent())
    if (Date.now() > endsAt) {
      return `it did not end within ${timeoutMs} ms: ${task?.status}${task?.waiting_for == null ? '' : `, waiting for ${task.waiting_for}`}`
    }
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS))
  }
}

/** A wait for a signal keeps its time limit: cut short, it would end another way. */
async function hurry(look: pg.Pool, id: TaskId): Promise<void> {
  await look.query(
    `with t as (update foothold.tasks set wake_at = foothold.clock() where id = $1 and status = 'waiting' and wake_at > foothold.clock() returning id)
     update foothold.agent_steps s set due_at = least(due_at, foothold.clock()), doubt_until = least(doubt_until, foothold.clock())
     from t where s.task_id = t.id and s.kind <> 'signal' and s.status in ('waiting', 'failed', 'intent')`,
    [id],
  )
}

async function tellTruth(foothold: Foothold, look: pg.Pool, id: TaskId, sent: readonly Sent[]): Promise<void> {
  const { rows } = await look.query<{ key: string }>(
    `select key from foothold.agent_steps where task_id = $1 and kind = 'effect' and status in ('unknown', 'intent')`,
    [id],
  )
  for (const { key } of rows) {
    const done = sent.find((one) => one.taskId === id && one.key === key && one.outcome === 'answered')
    const decision: Decision =
      done === undefined
        ? { outcome: 'not_done', by: 'surviveKills' }
        : { outcome: 'done', result: done.result, by: 'surviveKills' }
    await foothold.decide(id, key, decision).catch(() => undefined)
  }
}

function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value)
  return text.length > 300 ? `${text.slice(0, 300)}…` : text
}
