import type { Command } from '../command.ts'
import { taskIdOf } from '../task-id.ts'

export const tasksCancel: Command = {
  name: 'tasks cancel',
  summary: 'Cancel a task',
  details: `What waits ends at once. What is being processed is stopped by its worker within about a second; an effect
that is on its way may still take place.`,
  arguments: [{ name: 'id', about: 'the task' }],
  options: { reason: { value: '<text>', about: 'stored and shown with the task' } },
  async run({ arguments: [text = ''], values, command }, { out, isJson, connect }) {
    const id = taskIdOf(text, command)
    const { foothold } = await connect()
    const answer = await foothold.cancel(id, values['reason'] === undefined ? {} : { reason: values['reason'] })
    if (isJson) out.document({ id, ...answer })
    else if (answer.outcome === 'cancelled') out.line(`${id} is cancelled.`)
    else if (answer.outcome === 'requested') {
      out.line(`${id} is being processed; its worker stops it. See: foothold tasks watch ${id}`)
    } else out.line(`${id} had ended already: it is ${answer.status}.`)
    // To find it cancelled is what was wanted; to find it completed is not.
    return answer.status === 'completed' ? 1 : 0
  },
}
