import type { Command } from '../command.ts'
import { TARGET_OPTIONS, targetOf } from '../pause-target.ts'
import { plainLine } from '../plain-text.ts'

export const unpause: Command = {
  name: 'unpause',
  aliases: ['resume-agent'],
  summary: 'Let a paused agent, tenant or release go on',
  details: `Workers take up its tasks at once. An agent's deadline begins anew for tasks that had begun before; one that the
producer gave does not.`,
  arguments: [],
  options: TARGET_OPTIONS,
  async run({ values, command }, { out, isJson, connect }) {
    const target = targetOf(values, command)
    const { foothold } = await connect()
    const { wasPaused } = await foothold.unpause(target)
    if (isJson) out.document({ ...target, wasPaused })
    else {
      const [[kind, value] = []] = Object.entries(target)
      out.line(plainLine(`${kind} ${value} ${wasPaused ? 'goes on.' : 'was not paused.'}`))
    }
    return wasPaused ? 0 : 1
  },
}
