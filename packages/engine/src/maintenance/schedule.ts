import { type Loop, startLoop } from '../lifecycle/service.ts'
import type { Meter } from '../metrics/meter.ts'
import { parseCron } from '../protocol/cron.ts'
import type { Logger } from '../protocol/foothold.ts'
import { type DueTicks, dueTicks } from '../protocol/schedules.ts'
import { checkTimeZone } from '../protocol/time-zone.ts'
import type { Database } from '../store/database.ts'
import { type DueSchedule, FIRED_MAX, fireSchedules, readDueSchedules, type ScheduleMove } from '../store/schedules.ts'
import { announcePending } from '../store/settle.ts'

/** Schedules set by other processes are seen within this time. */
const LOOK_MS = 1_000
/** Where there are none yet, the first tick of the first one may come this late. */
const IDLE_LOOK_MS = 5_000
/** All workers of a fleet know when the next tick is: so that not all of them ask for it at once. */
const SPREAD_MS = 50
/** Of one statement, if a schedule alone does not catch up more. */
const TASKS_MAX = 100

/** Makes the tasks of schedules. Every worker does it; there is no leader, and rounds side by side are safe. */
export function startScheduler(options: {
  readonly db: Database
  readonly workerId: () => string
  readonly logger: Logger
  readonly meter: Meter
  readonly onError: (error: unknown) => void
}): Loop {
  const { db, workerId, logger, meter, onError } = options
  let nextInMs = LOOK_MS
  /** Rows that this process cannot read, as they stand, and agents that nobody has registered: each is told once. */
  const unreadable = new Set<string>()
  let unknown: readonly string[] = []

  return startLoop({
    name: 'schedule',
    next: () => nextInMs,
    onError(error) {
      nextInMs = LOOK_MS
      onError(error)
    },
    async run() {
      const look = await readDueSchedules(db, [...unreadable])
      const { nextInMs: dueInMs } = look
      // What is due now has not been moved yet, so the next time does not count it.
      const idleMs = look.due.length > 0 ? LOOK_MS : IDLE_LOOK_MS
      nextInMs = dueInMs === null ? idleMs : Math.min(LOOK_MS, Math.ceil(dueInMs) + Math.random() * SPREAD_MS)
      for (const name of look.unknown) {
        if (!unknown.includes(name)) logger.warn({ schedule: name }, 'schedule is due, but no worker has its agent')
      }
      unknown = look.unknown
      const plans = look.due.map((schedule) => planOf(schedule, new Date(look.nowMs))).filter((plan) => plan !== null)
      for (const batch of batchesOf(plans)) await fire(batch)
      // There may be more behind a full round.
      if (look.due.length === FIRED_MAX) nextInMs = SPREAD_MS
    },
  })

  function planOf(schedule: DueSchedule, now: Date): Plan | null {
    const { name, seq, cron, timeZone, catchUp, nextAtMs } = schedule
    try {
      checkTimeZone('timeZone', timeZone)
      const times = { cron: parseCron('cron', cron), timeZone, catchUp }
      return { name, seq, ...dueTicks(times, new Date(nextAtMs), now) }
    } catch (error) {
      unreadable.add(`${name}#${seq}`)
      logger.error({ schedule: name, error }, 'schedule cannot be read')
      return null
    }
  }

  async function fire(plans: readonly Plan[]): Promise<void> {
    const moved = await fireSchedules(db, plans)
    for (const { name, agent, tasks } of moved) {
      const { ticks, isMissed } = plans.find((plan) => plan.name === name) as Plan
      const fields = { schedule: name, agent, worker: workerId() }
      if (isMissed) logger.warn({ ...fields, nowRun: ticks }, 'ticks were missed')
      for (let task = 0; task < tasks; task += 1) meter.submitted(agent)
      if (tasks > 0) logger.info({ ...fields, ticks }, 'schedule fired')
      else if (ticks.length > 0)
        logger.warn({ ...fields, ticks }, 'tick left out: its task is there, or the one before has not ended')
    }
    const handlers = moved.flatMap(({ handler }) => handler ?? [])
    await announcePending(db, handlers, { doing: 'announcing tasks of schedules', patienceMs: 0 })
  }
}

type Plan = ScheduleMove & DueTicks

function batchesOf(plans: readonly Plan[]): readonly (readonly Plan[])[] {
  const batches: Plan[][] = []
  let tasks = 0
  for (const plan of plans) {
    tasks += plan.ticks.length
    const last = batches.at(-1)
    if (last !== undefined && tasks <= TASKS_MAX) last.push(plan)
    else {
      batches.push([plan])
      tasks = plan.ticks.length
    }
  }
  return batches
}
