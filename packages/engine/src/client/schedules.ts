import type { Agent } from '../protocol/agent.ts'
import { encode } from '../protocol/codec.ts'
import { type Cron, nextTick, parseCron } from '../protocol/cron.ts'
import { FootholdError } from '../protocol/errors.ts'
import { checkKey, checkName } from '../protocol/names.ts'
import { CATCH_UPS, OVERLAPS, type Schedule, type ScheduleOptions } from '../protocol/schedules.ts'
import { checkBySchema } from '../protocol/schema-check.ts'
import { checkTimeZone } from '../protocol/time-zone.ts'
import { PRIORITIES } from '../protocol/views.ts'
import type { Database } from '../store/database.ts'
import { readClock } from '../store/doctor.ts'
import { readAgentNames } from '../store/read-tasks.ts'
import { readSchedules, setSchedulePaused, storeSchedule } from '../store/schedules.ts'
import { checkOneOf, checkOptionNames } from './arguments.ts'

const OPTIONS = ['agent', 'input', 'cron', 'timeZone', 'catchUp', 'overlap', 'tenant', 'priority'] as const

/** Safe to call at every start of every process: the same again changes nothing. */
export async function setSchedule(db: Database, name: string, options: ScheduleOptions): Promise<Schedule> {
  checkName('name', name)
  checkOptionNames('options', options, OPTIONS)
  const { cron: text, timeZone = 'UTC', catchUp = 'once', tenant, priority = 'normal' } = options
  const { overlap = catchUp === 'all' ? 'allow' : 'skip' } = options
  const cron = parseCron('options.cron', text)
  checkTimeZone('options.timeZone', timeZone)
  checkOneOf('options.catchUp', catchUp, CATCH_UPS)
  checkOneOf('options.overlap', overlap, OVERLAPS)
  if (catchUp === 'all' && overlap === 'skip') {
    throw new FootholdError('INVALID_ARGUMENT', {
      field: 'options.overlap',
      problem: 'ticks that are caught up all at once cannot wait for one another',
      cure: "Leave it out, or take catchUp: 'once'.",
    })
  }
  if (tenant !== undefined) checkKey('options.tenant', tenant)
  checkOneOf('options.priority', priority, PRIORITIES)
  const { agent, input } = await targetOf(db, options)
  await storeSchedule(db, {
    name,
    agent,
    tenant: tenant ?? '',
    priority: PRIORITIES.indexOf(priority),
    input,
    cron: text,
    timeZone,
    catchUp,
    overlap,
    nextAt: await nextAfterNow(db, cron, timeZone),
  })
  const [schedule] = await readSchedules(db, name)
  if (schedule === undefined) throw notFound(name)
  return schedule
}

/** Ticks that go by while it is paused are not owed when it goes on. */
export async function pauseSchedule(db: Database, name: string): Promise<void> {
  checkName('name', name)
  if (!(await setSchedulePaused(db, name, { isPaused: true }))) throw notFound(name)
}

export async function unpauseSchedule(db: Database, name: string): Promise<void> {
  checkName('name', name)
  const [schedule] = await readSchedules(db, name)
  if (schedule === undefined) throw notFound(name)
  const nextAt = await nextAfterNow(db, parseCron('cron', schedule.cron), schedule.timeZone)
  if (!(await setSchedulePaused(db, name, { isPaused: false, nextAt }))) throw notFound(name)
}

function notFound(schedule: string): FootholdError {
  return new FootholdError('SCHEDULE_NOT_FOUND', { schedule })
}

async function nextAfterNow(db: Database, cron: Cron, timeZone: string): Promise<Date> {
  return new Date(nextTick(cron, timeZone, (await readClock(db)).getTime()))
}

/** Checked now by the schema where it is at hand; stored as given, for the worker checks it with the code of that day. */
async function targetOf(
  db: Database,
  { agent, input }: ScheduleOptions,
): Promise<{ readonly agent: string; readonly input: string }> {
  const name = typeof agent === 'string' ? agent : agent?.name
  checkName('options.agent', name)
  if (typeof agent === 'object' && '~code' in agent) {
    const checked = await checkBySchema((agent as unknown as Agent)['~code'].input, input)
    if (checked.kind === 'invalid') throw new FootholdError('INPUT_INVALID', { agent: name, issues: checked.issues })
  } else {
    const known = await readAgentNames(db)
    if (!known.includes(name)) throw new FootholdError('AGENT_UNKNOWN', { agent: name, known })
  }
  return { agent: name, input: encode(input, 'options.input') }
}
