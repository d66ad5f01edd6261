import type { TaskId } from '../protocol/task-context.ts'
import { UsageError } from './usage-error.ts'

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

export function taskIdOf(text: string, command: string): TaskId {
  const id = text.trim().toLowerCase()
  if (UUID.test(id)) return id as TaskId
  throw new UsageError(
    `${JSON.stringify(text.slice(0, 100))} is not a task id: an id looks like 0199d2c4-7e1f-7a30-8c5e-2f6b1d9a4e07.`,
    command,
  )
}
