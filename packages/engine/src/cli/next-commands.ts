import type { TaskDetail } from '../protocol/views.ts'
import type { WhyFacts } from '../store/why.ts'
import { shellWord } from './shell-word.ts'
import { doubtful } from './task-cause.ts'

/** What a person may type now, the likeliest first. */
export function nextCommands(task: TaskDetail, facts: WhyFacts): string[] {
  const { id } = task
  switch (task.status) {
    case 'pending':
      if (facts.liveWorkers > 0) return [`foothold tasks watch ${id}`]
      return [`foothold worker <module with ${facts.handler}>`, 'foothold workers']
    case 'processing':
      return [`foothold tasks watch ${id}`]
    case 'waiting':
      if (task.waitingFor !== 'person') return [`foothold tasks watch ${id}`]
      return doubtful(task).flatMap((key) => [
        `foothold decide ${id} ${shellWord(key)} --done '<what it returned, as JSON>' --by <you>`,
        `foothold decide ${id} ${shellWord(key)} --not-done --by <you>`,
      ])
    case 'completed':
      return [`foothold tasks show ${id}`]
    case 'cancelled':
      return restartOf(task)
    case 'dead_letter':
      return afterDeath(task)
  }
}

function afterDeath(task: TaskDetail): string[] {
  const resume = `foothold tasks resume ${task.id}`
  switch (task.lastReason ?? '') {
    // The same input and the same request would be refused the same way.
    case 'input_invalid':
      return [`foothold tasks cancel ${task.id}`]
    case 'code_changed':
    case 'effect_request_changed':
      return [...restartOf(task), resume]
    default:
      return [resume]
  }
}

function restartOf(task: TaskDetail): string[] {
  const from = task.steps.find((step) => step.status !== 'completed') ?? task.steps[0]
  return from === undefined
    ? [`foothold tasks show ${task.id}`]
    : [`foothold tasks restart ${task.id} --from ${shellWord(from.key)}`]
}
