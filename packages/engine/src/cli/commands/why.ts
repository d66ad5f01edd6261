import { FootholdError } from '../../protocol/errors.ts'
import type { Command } from '../command.ts'
import { explanationLines } from '../explanation-lines.ts'
import { taskIdOf } from '../task-id.ts'

export const why: Command = {
  name: 'why',
  summary: 'Say where a task stands, why, and what to do',
  arguments: [{ name: 'id', about: 'the task' }],
  options: {},
  async run({ arguments: [text = ''], command }, { out, isJson, connect }) {
    const id = taskIdOf(text, command)
    const { foothold } = await connect()
    const explanation = await foothold.why(id)
    if (explanation === null) throw new FootholdError('TASK_NOT_FOUND', { taskId: id })
    if (isJson) out.document(explanation)
    else for (const line of explanationLines(explanation)) out.line(line)
    return 0
  },
}
