import type { TaskId } from 'foothold'
import type { Fleet, Life, OfTask } from './fleet.ts'

/** What one blow came to. */
export interface Round {
  /** Null: nobody else had to take the task. */
  readonly tookMs: number | null
  /** Of the worker that was struck: steps of the task stored after another one had it. */
  readonly zombieWrites: number
  /** Requests that it sent after another one had the task. */
  readonly lateRequests: number
}

export type Blow = 'kill' | 'stop' | 'freeze'

/** A lookout trusts one quick second look when its session is ten seconds old. */
const STEADY_MS = 14_000
/** Its lifeline has been seen by then. */
const UP_MS = 3_000
/** A step that ends sooner after the signal is left for so long to workers of another release (decision 20). */
const YIELD_MS = 250
/** For so long a woken worker is watched. */
const WOKEN_MS = 3_000

export const BLOWS: Readonly<Record<Blow, (fleet: Fleet, options: { readonly frozenMs: number }) => Promise<Round>>> = {
  /** From kill -9 to the moment in which the task's code runs in another worker. */
  async kill(fleet) {
    const { task, victim } = await running(fleet, 'answer')
    const struckAtMs = Date.now()
    victim.child.kill('SIGKILL')
    const next = await elsewhere(fleet, task, victim)
    await finish(fleet, task)
    await replace(fleet, victim)
    return { tookMs: next.told.atMs - struckAtMs, zombieWrites: 0, lateRequests: 0 }
  },

  /** SIGTERM: from the end of the step that is running to the moment in which the next step's code runs in another worker. */
  async stop(fleet) {
    const { task, victim } = await running(fleet, 'answer')
    victim.child.kill('SIGTERM')
    await fleet.seen(() => victim.told.some(({ what }) => what === 'stopping') || null)
    await new Promise((resolve) => setTimeout(resolve, YIELD_MS + Math.random() * 1_000))
    victim.child.send(task)
    const next = await elsewhere(fleet, task, victim)
    const ended = fleet.toldOf(task).find(({ told }) => told.what === 'ended')
    await fleet.foothold.handle(task).result({ timeoutMs: 30_000 })
    const tookMs = next.told.atMs - (ended?.told.atMs ?? Number.NaN)
    await replace(fleet, victim)
    return { tookMs, zombieWrites: 0, lateRequests: 0 }
  },

  /** SIGSTOP and, so much later, SIGCONT, to a worker that sends one request after the other. */
  async freeze(fleet, { frozenMs }) {
    const { task, victim } = await running(fleet, 'calls')
    const struckAtMs = Date.now()
    victim.child.kill('SIGSTOP')
    await new Promise((resolve) => setTimeout(resolve, frozenMs))
    const wokenAtMs = Date.now()
    victim.child.kill('SIGCONT')
    await fleet.seen(
      () => victim.told.some(({ what, atMs }) => what === 'awake' && atMs > wokenAtMs + WOKEN_MS) || null,
    )
    await finish(fleet, task)
    const round = await verdict(fleet, { task, victim, struckAtMs })
    await replace(fleet, victim)
    return round
  },
}

/** A task whose code runs in a worker with a lifeline, beside others that are lookouts by now. */
async function running(
  fleet: Fleet,
  agent: 'answer' | 'calls',
): Promise<{ readonly task: TaskId; readonly victim: Life }> {
  const { id } = await fleet.foothold.submit(agent, null)
  const { life } = await fleet.seen(() => fleet.toldOf(id)[0] ?? null)
  const isReady = (): boolean =>
    [...fleet.lives].some((other) => other !== life && Date.now() - other.startedAtMs > STEADY_MS) &&
    Date.now() - life.startedAtMs > UP_MS
  await fleet.seen(() => isReady() || null)
  return { task: id, victim: life }
}

function elsewhere(fleet: Fleet, task: TaskId, victim: Life): Promise<{ readonly told: OfTask }> {
  return fleet.seen(() => fleet.toldOf(task).find(({ life }) => life !== victim) ?? null)
}

/** Whoever has it. */
async function finish(fleet: Fleet, task: TaskId): Promise<void> {
  for (const { child } of fleet.lives) if (child.connected) child.send(task)
  await fleet.foothold.handle(task).result({ timeoutMs: 60_000 })
}

async function replace(fleet: Fleet, victim: Life): Promise<void> {
  await fleet.end(victim)
  await fleet.start()
}

/** By the attempts as the database has them, on the same clock: the one after the victim's began when it lost the task. */
async function verdict(
  fleet: Fleet,
  { task, victim, struckAtMs }: { readonly task: TaskId; readonly victim: Life; readonly struckAtMs: number },
): Promise<Round> {
  const taken = await fleet.query<{ attempt: number; atMs: number; zombieWrites: number }>(
    `select lost.attempt, extract(epoch from next.started_at)::float8 * 1000 as "atMs",
            (select count(*)::int from foothold.agent_steps s where s.task_id = lost.task_id
               and s.attempt = lost.attempt and s.finished_at > next.started_at) as "zombieWrites"
     from foothold.attempts lost join foothold.attempts next on next.task_id = lost.task_id and next.attempt = lost.attempt + 1
     where lost.task_id = $1 order by 1`,
    [task],
  )
  const requests = fleet.toldOf(task).filter(({ life, told }) => life === victim && told.what === 'request')
  const late = requests.filter(({ told }) =>
    taken.some(({ attempt, atMs }) => told.attempt === attempt && told.atMs > atMs),
  )
  return {
    tookMs: taken[0] === undefined ? null : Math.round(taken[0].atMs - struckAtMs),
    zombieWrites: taken.reduce((sum, { zombieWrites }) => sum + zombieWrites, 0),
    lateRequests: late.length,
  }
}
