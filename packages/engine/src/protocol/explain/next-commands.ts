import type { StepView, TaskDetail } from '../views.ts'
import type { GoesOn } from './explanation.ts'
import { shellWord } from './shell-word.ts'
import { doubtful, questionsOf } from './task-cause.ts'
import type { TaskFacts } from './task-facts.ts'

/** What a person may type now, the likeliest first. */
export function nextCommands(task: TaskDetail, facts: TaskFacts, goesOn: GoesOn): string[] {
  const { id } = task
  switch (task.status) {
    case 'pending':
      if (facts.pauses.length > 0) return unpauses(facts)
      if (facts.liveWorkers === 0 && facts.pausedReleases.length > 0) {
        return facts.pausedReleases.map((release) => `foothold unpause --release ${shellWord(release)}`)
      }
      if (facts.liveWorkers > 0) return [`foothold tasks watch ${id}`]
      return [`foothold worker <module with ${facts.handler}>`, 'foothold workers']
    case 'processing':
      return [`foothold tasks watch ${id}`]
    case 'waiting':
      if (task.waitingFor === 'pause') return unpauses(facts)
      if (task.waitingFor === 'code') return [`foothold tasks resume ${id}`, ...restartFrom(id, facts.failedStep)]
      if (task.waitingFor === 'approval') return answersTo(task)
      if (task.waitingFor === 'child') return childrenOf(task, 'waiting').map((child) => `foothold why ${child}`)
      if (task.waitingFor === 'limit') return ['foothold limits list', `foothold tasks watch ${id}`]
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
      return afterDeath(task, goesOn)
  }
}

function unpauses({ pauses }: TaskFacts): string[] {
  return pauses.map(({ kind, value }) => `foothold unpause --${kind} ${shellWord(value)}`)
}

function answersTo(task: TaskDetail): string[] {
  return questionsOf(task).flatMap(({ key }) => [
    `foothold approve ${task.id} ${shellWord(key)} --by <you>`,
    `foothold reject ${task.id} ${shellWord(key)} --by <you>`,
  ])
}

const CHILDREN_MAX = 3

function childrenOf(task: TaskDetail, status: StepView['status']): string[] {
  return task.steps
    .flatMap((step) => (step.status === status && step.child !== null ? [step.child.id] : []))
    .slice(0, CHILDREN_MAX)
}

function afterDeath(task: TaskDetail, goesOn: GoesOn): string[] {
  const resume = `foothold tasks resume ${task.id}`
  if (goesOn !== 'in_vain') return [resume]
  switch (task.lastReason ?? '') {
    case 'child_failed':
      return [...childrenOf(task, 'failed').map((child) => `foothold why ${child}`), resume]
    case 'code_changed':
    case 'effect_request_changed':
      return [...restartOf(task), resume]
    default:
      // The same input would be refused the same way, and a deadline that the producer gave does not come back.
      return [`foothold tasks cancel ${task.id}`]
  }
}

function restartFrom(id: string, key: string | null): string[] {
  return key === null ? [] : [`foothold tasks restart ${id} --from ${shellWord(key)}`]
}

function restartOf(task: TaskDetail): string[] {
  const from = task.steps.find((step) => step.status !== 'completed') ?? task.steps[0]
  return from === undefined ? [`foothold tasks show ${task.id}`] : restartFrom(task.id, from.key)
}
