import type { Command } from '../command.ts'
import { pauseLine } from '../pause-line.ts'

export const pauses: Command = {
  name: 'pauses',
  summary: 'List what is paused',
  arguments: [],
  options: {},
  async run(_given, { out, isJson, connect }) {
    const { foothold, now } = await connect()
    const items = await foothold.pauses()
    if (isJson) out.document({ items })
    else if (items.length === 0) out.note('Nothing is paused.')
    else for (const pause of items) out.line(pauseLine(pause, now))
    return 0
  },
}
