import type { AgentRef } from './agent.ts'
import { type Cron, lastTick, nextTick } from './cron.ts'
import { MINUTE_MS } from './time-zone.ts'
import type { Priority } from './views.ts'

/** `once`: of the ticks that were missed the last one runs. `skip`: none. `all`: each, the newest hundred at most. */
export const CATCH_UPS = ['once', 'skip', 'all'] as const
export type CatchUp = (typeof CATCH_UPS)[number]
/** Whether a tick makes a task while the task of the tick before has not ended. */
export const OVERLAPS = ['skip', 'allow'] as const
export type Overlap = (typeof OVERLAPS)[number]

export interface ScheduleOptions<Input = unknown> {
  readonly agent: AgentRef<string, Input, unknown> | string
  /** Of every task; checked by the agent's schema when the schedule is set, and by the worker at each tick. */
  readonly input: Input
  /** Minute, hour, day of the month, month, day of the week: `30 2 * * 1-5`. */
  readonly cron: string
  /** IANA name. Default `UTC`. */
  readonly timeZone?: string | undefined
  /** After an outage. Default `once`. */
  readonly catchUp?: CatchUp | undefined
  /** Default `skip`, with `catchUp: 'all'` it is `allow`. */
  readonly overlap?: Overlap | undefined
  readonly tenant?: string | undefined
  /** Default `normal`. */
  readonly priority?: Priority | undefined
}

export interface Schedule {
  readonly name: string
  readonly agent: string
  readonly input: unknown
  readonly cron: string
  readonly timeZone: string
  readonly catchUp: CatchUp
  readonly overlap: Overlap
  readonly tenant: string | null
  readonly priority: Priority
  readonly isPaused: boolean
  readonly nextAt: Date
  /** The last tick that made a task, and the task. */
  readonly lastTickAt: Date | null
  readonly lastTaskId: string | null
}

export interface DueTicks {
  /** Those that become tasks, oldest first. */
  readonly ticks: readonly Date[]
  readonly nextAt: Date
  /** Some tick comes to nothing, by the policy. */
  readonly isMissed: boolean
}

/** A tick that is this late was not missed: a deploy, or a database that came back. */
const ON_TIME_MS = MINUTE_MS
const CAUGHT_UP_MAX = 100

/** What a schedule whose next tick stands at `nextAt` owes at `now`. */
export function dueTicks(
  { cron, timeZone, catchUp }: { readonly cron: Cron; readonly timeZone: string; readonly catchUp: CatchUp },
  nextAt: Date,
  now: Date,
): DueTicks {
  const ticksMax = catchUp === 'all' ? CAUGHT_UP_MAX : 1
  const due: number[] = []
  let tick = lastTick(cron, timeZone, now.getTime())
  while (tick >= nextAt.getTime() && due.length < ticksMax) {
    due.unshift(tick)
    tick = lastTick(cron, timeZone, tick - 1)
  }
  const isLate = catchUp === 'skip' && due[0] !== undefined && now.getTime() - due[0] > ON_TIME_MS
  return {
    ticks: isLate ? [] : due.map((ms) => new Date(ms)),
    nextAt: new Date(nextTick(cron, timeZone, now.getTime())),
    isMissed: isLate || tick >= nextAt.getTime(),
  }
}
