import type { Command } from '../command.ts'
import { taskIdOf } from '../task-id.ts'

export const tasksResume: Command = {
  name: 'tasks resume',
  summary: 'Let a dead letter go on from its failed step',
  details: `Stored steps are kept and not run again; errors and crashes are counted anew. foothold why <id> says which steps
will run again.`,
  arguments: [{ name: 'id', about: 'the task' }],
  options: {},
  async run({ arguments: [text = ''], command }, { out, isJson, connect }) {
    const id = taskIdOf(text, command)
    const { foothold } = await connect()
    await foothold.resume(id)
    if (isJson) out.document({ id, status: 'pending' })
    else out.line(`${id} goes on. See: foothold tasks watch ${id}`)
    return 0
  },
}
