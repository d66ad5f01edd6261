import type { TaskSummary } from '../protocol/views.ts'
import { plainLine } from './plain-text.ts'

/** `waiting for a person`, `dead_letter (step_failed)`: the status with the word that says most beside it. */
export function statusText(task: TaskSummary): string {
  if (task.pausedBy !== null) return `${task.status} (${task.pausedBy} paused)`
  switch (task.status) {
    case 'waiting':
      return `waiting (${plainLine(task.waitingFor ?? 'nothing')})`
    case 'pending':
    case 'dead_letter':
      return task.lastReason === null ? task.status : `${task.status} (${plainLine(task.lastReason)})`
    case 'processing':
      return task.cancelRequestedAt === null ? task.status : 'processing (cancel requested)'
    case 'completed':
    case 'cancelled':
      return task.status
  }
}
