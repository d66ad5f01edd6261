import type {
  AttemptView as WireAttempt,
  TaskDetail as WireDetail,
  TaskPage as WirePage,
  PauseView as WirePause,
  StepView as WireStep,
  TaskSummary as WireSummary,
  WorkerView as WireWorker,
} from '@foothold/http-api'
import { toWireValue } from '@foothold/http-api'
import type { AttemptView, Page, Pause, StepView, TaskDetail, TaskSummary, WorkerView } from 'foothold'

/** Engine values to wire values, field by field, so that nothing travels that the contract does not name. */

function wireSummary(task: TaskSummary): WireSummary {
  return {
    id: task.id,
    agent: task.agent,
    version: task.version,
    status: task.status,
    priority: task.priority,
    tenant: task.tenant,
    attempt: task.attempt,
    workerId: task.workerId,
    lastReason: task.lastReason,
    waitingFor: task.waitingFor,
    wakeAt: instant(task.wakeAt),
    pausedBy: task.pausedBy,
    errorCount: task.errorCount,
    crashCount: task.crashCount,
    handoverCount: task.handoverCount,
    cancelRequestedAt: instant(task.cancelRequestedAt),
    createdAt: task.createdAt.toISOString(),
    startedAt: instant(task.startedAt),
    finishedAt: instant(task.finishedAt),
  }
}

export function wireDetail(task: TaskDetail): WireDetail {
  return {
    ...wireSummary(task),
    input: toWireValue(task.input),
    output: toWireValue(task.output),
    error: task.error,
    deadlineAt: instant(task.deadlineAt),
    parentId: task.parentId,
    parentKey: task.parentKey,
    steps: task.steps.map(wireStep),
    attempts: task.attempts.map(wireAttempt),
  }
}

export function wirePage(page: Page<TaskSummary>): WirePage {
  return { items: page.items.map(wireSummary), nextCursor: page.nextCursor }
}

export function wireWorker(worker: WorkerView): WireWorker {
  return {
    id: worker.id,
    release: worker.release,
    status: worker.status,
    handlers: [...worker.handlers],
    concurrency: worker.concurrency,
    running: worker.running,
    startedAt: worker.startedAt.toISOString(),
    lastHeartbeatAt: worker.lastHeartbeatAt.toISOString(),
    hasLifeline: worker.hasLifeline,
    loopLagMs: worker.loopLagMs,
    rssBytes: worker.rssBytes,
  }
}

export function wirePause(pause: Pause): WirePause {
  return { kind: pause.kind, value: pause.value, since: pause.since.toISOString(), reason: pause.reason, by: pause.by }
}

function wireStep(step: StepView): WireStep {
  return {
    key: step.key,
    kind: step.kind,
    status: step.status,
    version: step.version,
    tries: step.tries,
    attempt: step.attempt,
    workerId: step.workerId,
    output: toWireValue(step.output),
    error: step.error,
    usage: step.usage,
    child: step.child,
    question: step.question === null ? null : { ...step.question, expiresAt: instant(step.question.expiresAt) },
    startedAt: step.startedAt.toISOString(),
    finishedAt: instant(step.finishedAt),
  }
}

function wireAttempt(attempt: AttemptView): WireAttempt {
  return {
    attempt: attempt.attempt,
    workerId: attempt.workerId,
    startedAt: attempt.startedAt.toISOString(),
    endedAt: attempt.endedAt.toISOString(),
    outcome: attempt.outcome,
    reason: attempt.reason,
    detail: attempt.detail,
  }
}

function instant(date: Date | null): string | null {
  return date === null ? null : date.toISOString()
}
