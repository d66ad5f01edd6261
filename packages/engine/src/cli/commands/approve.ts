import type { Command } from '../command.ts'
import { plainLine } from '../plain-text.ts'
import { taskIdOf } from '../task-id.ts'
import { UsageError } from '../usage-error.ts'

export const approve: Command = answering('approved', 'approve', 'Answer a question of a task with yes')
export const reject: Command = answering('rejected', 'reject', 'Answer a question of a task with no')

function answering(decision: 'approved' | 'rejected', name: string, summary: string): Command {
  return {
    name,
    summary,
    details: 'The first answer stands; a different one is refused and told what stands.',
    arguments: [
      { name: 'id', about: 'the task' },
      { name: 'key', about: 'the question, as `foothold approvals` names it' },
    ],
    options: {
      by: { value: '<name>', about: 'who says so; stored with the step' },
      note: { value: '<text>', about: 'handed to the task with the answer' },
    },
    async run({ arguments: [text = '', key = ''], values, command }, { out, isJson, connect }) {
      const id = taskIdOf(text, command)
      const { by, note } = { by: values['by'], note: values['note'] }
      if (by === undefined || by === '') throw new UsageError('--by <name> is missing: who says so.', command)
      const { foothold } = await connect()
      await foothold.approve(id, key, { decision, by, ...(note === undefined ? {} : { note }) })
      if (isJson) out.document({ id, key, decision, by, note: note ?? null })
      else out.line(`Stored: ${plainLine(key)} ${decision}. The task goes on; see: foothold tasks watch ${id}`)
      return 0
    },
  }
}
