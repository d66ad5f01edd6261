import type { Command } from '../command.ts'

export const schedulesPause: Command = {
  name: 'schedules pause',
  summary: 'No tick of a schedule for now',
  details: 'Ticks that go by meanwhile are not owed afterwards. Tasks that it has made go on.',
  arguments: [{ name: 'name', about: 'the schedule' }],
  options: {},
  async run({ arguments: [name = ''] }, { out, isJson, connect }) {
    const { foothold } = await connect()
    await foothold.pauseSchedule(name)
    if (isJson) out.document({ name, isPaused: true })
    else out.line(`Paused: ${name}. To let it go on: foothold schedules unpause ${name}`)
    return 0
  },
}
