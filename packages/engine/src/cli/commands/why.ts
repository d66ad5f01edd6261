import { FootholdError } from '../../protocol/errors.ts'
import { readWhy } from '../../store/why.ts'
import type { Command } from '../command.ts'
import { explain } from '../explanation.ts'
import { explanationLines } from '../explanation-lines.ts'
import { taskIdOf } from '../task-id.ts'

export const why: Command = {
  name: 'why',
  summary: 'Say where a task stands, why, and what to do',
  arguments: [{ name: 'id', about: 'the task' }],
  options: {},
  async run({ arguments: [text = ''], command }, { out, isJson, connect }) {
    const id = taskIdOf(text, command)
    const { foothold, db, now } = await connect()
    const [task, facts] = await Promise.all([foothold.task(id), readWhy(db, id)])
    if (task === null || facts === null) throw new FootholdError('TASK_NOT_FOUND', { taskId: id })
    const explanation = explain(task, facts, now)
    if (isJson) out.document(explanation)
    else for (const line of explanationLines(explanation, now, out)) out.line(line)
    return 0
  },
}
