import type { Command } from '../command.ts'

export const schedulesRemove: Command = {
  name: 'schedules remove',
  summary: 'Forget a schedule; its tasks go on',
  details: 'Code that sets it at its start sets it again: remove it there first.',
  arguments: [{ name: 'name', about: 'the schedule' }],
  options: {},
  async run({ arguments: [name = ''] }, { out, isJson, connect }) {
    const { foothold } = await connect()
    const { wasThere } = await foothold.removeSchedule(name)
    if (isJson) out.document({ name, wasThere })
    else out.line(wasThere ? `Removed: ${name}` : `There was no schedule ${name}.`)
    return 0
  },
}
