import type { Command } from '../command.ts'
import { wallTime } from '../wall-time.ts'

export const schedulesUnpause: Command = {
  name: 'schedules unpause',
  summary: 'Let a schedule go on',
  arguments: [{ name: 'name', about: 'the schedule' }],
  options: {},
  async run({ arguments: [name = ''] }, { out, isJson, connect }) {
    const { foothold } = await connect()
    await foothold.unpauseSchedule(name)
    const schedule = (await foothold.schedules()).find((one) => one.name === name)
    if (isJson) out.document({ name, isPaused: false, nextAt: schedule?.nextAt })
    else if (schedule !== undefined) out.line(`Goes on: ${name}, next ${wallTime(schedule.nextAt, schedule.timeZone)}`)
    return 0
  },
}
