import { duration, fromNow } from '../../protocol/explain/durations.ts'
import { limitText } from '../../protocol/explain/limit-text.ts'
import { pauseText } from '../../protocol/explain/pause-text.ts'
import { shellWord } from '../../protocol/explain/shell-word.ts'
import type { LifelineSwitch } from '../../protocol/foothold.ts'
import type { Limit } from '../../protocol/limits.ts'
import type { Pause } from '../../protocol/pauses.ts'
import type { Schedule } from '../../protocol/schedules.ts'
import type { TableSize, WorkFacts } from '../../store/doctor.ts'
import { FINISHED_MAX, type Invariant, type Violations } from '../../store/invariants.ts'
import { lifelineLine } from '../lifeline-line.ts'
import { type Check, error, ok, warning } from './check.ts'

/** A rolling deploy has passed by then; what still nobody can run will not run. */
const UNCLAIMED_SECONDS_MAX = 60
/** Fewer are cleared away by themselves. */
const DEAD_ROWS_MIN = 10_000
const LARGEST_SHOWN = 4
const LIMITS_SHOWN = 10

export function workChecks(work: WorkFacts): Check[] {
  return [...handlersChecks(work), workersCheck(work), deadLettersCheck(work), peopleCheck(work), codeCheck(work)]
}

function handlersChecks({ unclaimed, liveWorkers }: WorkFacts): Check[] {
  if (unclaimed.length === 0) return [ok('handlers', 'every pending task has a live worker that can run it')]
  return unclaimed.map(({ handler, tasks, waitingSeconds }) => {
    const who = liveWorkers === 0 ? 'no worker is alive' : `none of the ${liveWorkers} live workers can run it`
    const text = `${handler}: ${count(tasks, 'pending task')}, the oldest for ${duration(waitingSeconds * 1_000)}; ${who}`
    const cure = `Start a worker with ${handler}, or an agent that \`continues\` this version.`
    return waitingSeconds > UNCLAIMED_SECONDS_MAX ? error('handlers', text, cure) : warning('handlers', text, cure)
  })
}

function workersCheck({ liveWorkers, silentWorkers }: WorkFacts): Check {
  if (silentWorkers.length === 0) return ok('workers', `${liveWorkers} alive`)
  return warning(
    'workers',
    `${liveWorkers} alive; no sign of life within their lease from ${silentWorkers.join(', ')}`,
    'A live worker declares them lost by itself, once it has been steady for a lease of its own.',
  )
}

function deadLettersCheck({ deadLetters }: WorkFacts): Check {
  if (deadLetters === 0) return ok('dead letters', 'none')
  return warning('dead letters', `${deadLetters}, which only a person moves on`, 'See: foothold dead-letters')
}

function peopleCheck({ waitingForPerson }: WorkFacts): Check {
  if (waitingForPerson === 0) return ok('decisions', 'no task waits for a person')
  return warning(
    'decisions',
    `${count(waitingForPerson, 'task')} with an effect in doubt, on which a person must decide`,
    'Look through waiting tasks (foothold tasks list --status waiting), then: foothold why <id>',
  )
}

export function lifelineCheck(state: LifelineSwitch, now: Date): Check {
  const text = lifelineLine(state, now)
  return state.isOn ? ok('lifeline', text) : warning('lifeline', text, 'When it may be on: foothold lifeline --on')
}

function codeCheck({ waitingForCode }: WorkFacts): Check {
  if (waitingForCode === 0) return ok('changed code', 'no task has been refused by it')
  return warning(
    'changed code',
    `${count(waitingForCode, 'task')} stored by code that the code of now does not fit`,
    'A release that has not refused them takes them by itself: foothold why <id>. Else: foothold tasks resume, or restart --from.',
  )
}

export function pausesChecks(pauses: readonly Pause[], now: Date): Check[] {
  if (pauses.length === 0) return [ok('pauses', 'nothing is paused')]
  return pauses.map((pause) =>
    warning(
      'pauses',
      pauseText(pause, now),
      `When it may go on: foothold unpause --${pause.kind} ${shellWord(pause.value)}`,
    ),
  )
}

/** Every worker looks at all of them, so a minute is long. */
const OVERDUE_MS = 60_000

export function schedulesChecks(schedules: readonly Schedule[], now: Date): Check[] {
  const isLate = ({ isPaused, nextAt }: Schedule): boolean => !isPaused && now.getTime() - nextAt.getTime() > OVERDUE_MS
  const late = schedules.filter(isLate)
  if (late.length === 0) return [ok('schedules', schedules.length === 0 ? 'none' : `${schedules.length}, none overdue`)]
  return late.map(({ name, agent, nextAt }) =>
    warning(
      'schedules',
      `${name} is due ${fromNow(nextAt, now)}`,
      `Start a worker with agent ${agent}; what it catches up is its policy's.`,
    ),
  )
}

export function limitsChecks(limits: readonly Limit[]): Check[] {
  if (limits.length === 0) return [ok('limits', 'nothing is limited')]
  const shown = [...limits].sort((a, b) => (b.waiting ?? 0) - (a.waiting ?? 0)).slice(0, LIMITS_SHOWN)
  const rest = limits.length - shown.length
  return [
    ...shown.map((limit) => ok('limits', limitText(limit))),
    ...(rest > 0 ? [ok('limits', `and ${rest} more`)] : []),
  ]
}

export function tablesChecks(tables: readonly TableSize[]): Check[] {
  const bytes = tables.reduce((sum, table) => sum + table.bytes, 0)
  const largest = tables.slice(0, LARGEST_SHOWN).map((table) => `${table.name} ${size(table.bytes)}`)
  const swollen = tables.filter((table) => table.deadRows > Math.max(DEAD_ROWS_MIN, table.rows))
  return [
    ok('tables', `${size(bytes)}: ${largest.join(', ')}`),
    ...swollen.map((table) =>
      warning(
        'tables',
        `${table.name} holds ${table.deadRows} dead rows beside ${table.rows} live ones`,
        'Autovacuum does not keep up, or a long transaction holds it back.',
      ),
    ),
  ]
}

export function invariantCheck(invariant: Invariant, { count: found, examples }: Violations): Check {
  const { name, holds, level, cure } = invariant
  if (found === 0) return ok(name, holds)
  const text = `not so for ${count(found, 'task')} that ${holds}: ${examples.join(', ')}${found > examples.length ? ', …' : ''}`
  return level === 'error' ? error(name, text, cure) : warning(name, text, cure)
}

/** What the checks above do not look at. */
export const LOOK_BACK: string = `Of tasks that have ended, the newest ${FINISHED_MAX} were looked at.`

function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`
}

function size(bytes: number): string {
  if (bytes < 1024 ** 2) return `${Math.ceil(bytes / 1024)} kB`
  if (bytes < 1024 ** 3) return `${Math.round(bytes / 1024 ** 2)} MB`
  return `${(bytes / 1024 ** 3).toFixed(1)} GB`
}
