import type { StepView, TaskDetail } from '../views.ts'
import type { Explanation, Outside } from './explanation.ts'
import { nextCommands } from './next-commands.ts'
import { releaseVerdict } from './release-verdict.ts'
import { causeOf } from './task-cause.ts'
import type { TaskFacts } from './task-facts.ts'
import { wayOn } from './way-on.ts'

export function explainTask(task: TaskDetail, facts: TaskFacts): Explanation {
  const way = wayOn(task, facts)
  return {
    id: task.id,
    agent: task.agent,
    version: task.version,
    tenant: task.tenant,
    status: task.status,
    reason: task.lastReason,
    why: causeOf(task, facts),
    since: sinceOf(task, facts),
    at: facts.now,
    error: task.error,
    failedStep: facts.failedStep,
    release: releaseVerdict(task, facts.releases),
    budgets: {
      errors: task.errorCount,
      crashes: task.crashCount,
      crashesMax: facts.crashesMax,
      deploys: task.handoverCount,
    },
    outside: outsideOf(task.steps, facts),
    stored: task.steps.filter((step) => step.status === 'completed').map((step) => step.key),
    ...way,
    attempts: task.attempts,
    next: nextCommands(task, facts, way.goesOn),
  }
}

function sinceOf(task: TaskDetail, facts: TaskFacts): Date {
  const lastEnd = task.attempts.at(-1)?.endedAt ?? task.createdAt
  switch (task.status) {
    case 'processing':
      return facts.claimedAt ?? task.createdAt
    case 'pending':
    case 'waiting':
      return lastEnd
    case 'completed':
    case 'cancelled':
    case 'dead_letter':
      return task.finishedAt ?? lastEnd
  }
}

function outsideOf(steps: readonly StepView[], { followUp }: TaskFacts): Outside {
  const effects = steps.filter((step) => step.kind === 'effect')
  const keys = (...statuses: readonly StepView['status'][]): string[] =>
    effects.filter(({ status }) => statuses.includes(status)).map(({ key }) => key)
  return { done: keys('completed'), inDoubt: keys('intent', 'unknown'), refused: keys('failed'), followUp }
}
