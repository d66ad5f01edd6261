import { explainTask } from '../protocol/explain/explain-task.ts'
import type { Explanation } from '../protocol/explain/explanation.ts'
import type { Database } from '../store/database.ts'
import { readTask } from '../store/read-tasks.ts'
import { readTaskFacts } from '../store/why.ts'
import { parseTaskId } from './new-id.ts'

export async function whyTask(db: Database, taskId: string): Promise<Explanation | null> {
  const id = parseTaskId(taskId)
  if (id === null) return null
  const [task, facts] = await Promise.all([readTask(db, id), readTaskFacts(db, id)])
  return task === null || facts === null ? null : explainTask(task, facts)
}
