import { decode } from '../../protocol/codec.ts'
import { nextTick, parseCron } from '../../protocol/cron.ts'
import { CATCH_UPS, OVERLAPS, type ScheduleOptions } from '../../protocol/schedules.ts'
import { PRIORITIES } from '../../protocol/views.ts'
import type { Command } from '../command.ts'
import { UsageError } from '../usage-error.ts'
import { wallTime } from '../wall-time.ts'
import { scheduleJson } from './schedules-list.ts'

const TICKS_SHOWN = 3

export const schedulesSet: Command = {
  name: 'schedules set',
  summary: 'Submit a task at every tick of a cron',
  details: `The five fields are minute, hour, day of the month, month and day of the week, on the wall of the time zone. A time that
the clock is set forward over comes right after the gap, one that comes twice runs once. Set again it changes what is
given here; what is paused stays paused.`,
  arguments: [{ name: 'name', about: 'what it is called' }],
  options: {
    agent: { value: '<name>', about: 'whose task' },
    cron: { value: '<fields>', about: 'such as "30 2 * * 1-5"' },
    'time-zone': { value: '<zone>', about: 'such as Europe/Moscow; UTC by default' },
    input: { value: '<json>', about: 'of every task, null by default' },
    'catch-up': {
      value: '<policy>',
      about: 'ticks missed in an outage: once (the last, by default), skip (none), all (100 at most)',
    },
    overlap: { value: '<policy>', about: 'while the task before has not ended: skip (by default) or allow' },
    tenant: { value: '<tenant>', about: 'of every task' },
    priority: { value: '<priority>', about: PRIORITIES.join(', ') },
  },
  async run({ arguments: [name = ''], values, command }, { out, isJson, connect }) {
    const { agent, cron } = { agent: values['agent'], cron: values['cron'] }
    if (agent === undefined) throw new UsageError('--agent <name> is missing.', command)
    if (cron === undefined) throw new UsageError('--cron <fields> is missing, such as --cron "30 2 * * *".', command)
    const options: ScheduleOptions = {
      agent,
      cron,
      input: inputOf(values['input'], command),
      timeZone: values['time-zone'],
      catchUp: oneOf('--catch-up', values['catch-up'], CATCH_UPS, command),
      overlap: oneOf('--overlap', values['overlap'], OVERLAPS, command),
      tenant: values['tenant'],
      priority: oneOf('--priority', values['priority'], PRIORITIES, command),
    }
    const { foothold, now } = await connect()
    const schedule = await foothold.schedule(name, options as typeof options & { agent: string })
    if (isJson) {
      out.document(scheduleJson(schedule))
      return 0
    }
    const { timeZone, isPaused } = schedule
    out.line(`Set: ${name} submits to ${agent} at ${cron}, ${timeZone}.`)
    const ticks: string[] = []
    let at = now.getTime()
    while (ticks.length < TICKS_SHOWN) {
      at = nextTick(parseCron('--cron', cron), timeZone, at)
      ticks.push(wallTime(new Date(at), timeZone))
    }
    out.line(`Next: ${ticks.join(', ')}`)
    if (isPaused) out.note(`It is paused. To let it go on: foothold schedules unpause ${name}`)
    return 0
  },
}

function inputOf(text: string | undefined, command: string): unknown {
  if (text === undefined) return null
  try {
    return decode(text)
  } catch {
    throw new UsageError(
      `--input is not JSON: ${JSON.stringify(text.slice(0, 100))}. Text needs its quotes, as in --input '"A-17"'.`,
      command,
    )
  }
}

function oneOf<Word extends string>(
  option: string,
  text: string | undefined,
  known: readonly Word[],
  command: string,
): Word | undefined {
  if (text === undefined) return undefined
  const found = known.find((word) => word === text)
  if (found !== undefined) return found
  throw new UsageError(`${option}: ${JSON.stringify(text.slice(0, 100))} is none of ${known.join(', ')}.`, command)
}
