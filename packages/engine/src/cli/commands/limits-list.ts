import { limitText } from '../../protocol/explain/limit-text.ts'
import type { Command } from '../command.ts'
import { plainLine } from '../plain-text.ts'

export const limitsList: Command = {
  name: 'limits list',
  summary: 'List the limits, and how much of each is used',
  arguments: [],
  options: {},
  async run(_given, { out, isJson, connect }) {
    const { foothold } = await connect()
    const items = await foothold.limits()
    if (isJson) out.document({ items })
    else if (items.length === 0) out.note('Nothing is limited.')
    else for (const limit of items) out.line(plainLine(limitText(limit)))
    return 0
  },
}
