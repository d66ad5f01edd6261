import type { Command } from '../command.ts'
import { LIMIT_OPTIONS, limitTargetOf } from '../limit-target.ts'
import { plainLine } from '../plain-text.ts'

export const limitsRemove: Command = {
  name: 'limits remove',
  summary: 'End a limit',
  details: 'What waited for room is claimed at once.',
  arguments: [],
  options: LIMIT_OPTIONS,
  async run({ values, command }, { out, isJson, connect }) {
    const target = limitTargetOf(values, command)
    const { foothold } = await connect()
    const { wasLimited } = await foothold.removeLimit(target)
    const [[kind, value] = []] = Object.entries(target)
    if (isJson) out.document({ ...target, wasLimited })
    else out.line(plainLine(`${kind} ${value} ${wasLimited ? 'is not limited any more.' : 'was not limited.'}`))
    return wasLimited ? 0 : 1
  },
}
