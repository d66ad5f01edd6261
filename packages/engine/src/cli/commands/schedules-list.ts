import { fromNow } from '../../protocol/explain/durations.ts'
import type { Schedule } from '../../protocol/schedules.ts'
import type { Command } from '../command.ts'
import { plainLine } from '../plain-text.ts'
import { storedJson } from '../stored-json.ts'
import { tableLines } from '../table.ts'
import { wallTime } from '../wall-time.ts'

export const schedulesList: Command = {
  name: 'schedules list',
  summary: 'List schedules with their next and last tick',
  arguments: [],
  options: {},
  async run(_given, { out, isJson, connect }) {
    const { foothold, now } = await connect()
    const items = await foothold.schedules()
    if (isJson) {
      out.document({ items: items.map(scheduleJson) })
      return 0
    }
    if (items.length === 0) {
      out.note('No schedules. Set one: foothold schedules set <name> --agent <name> --cron "30 2 * * *"')
      return 0
    }
    const [head = '', ...rows] = tableLines(
      ['NAME', 'AGENT', 'CRON', 'TIME ZONE', 'NEXT', 'LAST TICK', 'TENANT'],
      items.map((schedule) => [
        schedule.name,
        schedule.agent,
        plainLine(schedule.cron),
        plainLine(schedule.timeZone),
        nextText(schedule, now),
        schedule.lastTickAt === null ? 'never' : fromNow(schedule.lastTickAt, now),
        plainLine(schedule.tenant ?? ''),
      ]),
    )
    for (const line of [out.paint('dim', head), ...rows]) out.line(line)
    return 0
  },
}

export function scheduleJson(schedule: Schedule): unknown {
  return { ...schedule, input: storedJson(schedule.input) }
}

/** What is long due has found no worker, or none with its agent. */
function nextText({ isPaused, nextAt, timeZone }: Schedule, now: Date): string {
  if (isPaused) return 'paused'
  return `${wallTime(nextAt, timeZone)} (${nextAt > now ? fromNow(nextAt, now) : `due ${fromNow(nextAt, now)}`})`
}
