import type { WorkEvent } from '../worker/messages.ts'
import type { Attempt } from '../world/queue.ts'

/** What the workers told, by task. A frozen worker's late words about an attempt that another has overtaken are ignored. */
export interface TaskStory {
  readonly task: string
  readonly request: string
  readonly attempt: number
  readonly pid: number
  readonly text: string
  readonly steps: ReadonlyMap<string, StepStory>
  readonly begunAtMs: number
  readonly endedAtMs: number | null
}

export interface StepStory {
  readonly state: 'running' | 'stored' | 'in_memory' | 'cut_off' | 'forgotten'
  /** How often it was begun. */
  readonly runs: number
}

export class Story {
  readonly begun: Attempt[] = []
  readonly #tasks = new Map<string, TaskStory>()

  get tasks(): readonly TaskStory[] {
    return [...this.#tasks.values()]
  }

  get(task: string): TaskStory | undefined {
    return this.#tasks.get(task)
  }

  runningOn(pid: number): readonly TaskStory[] {
    return this.tasks.filter((task) => task.pid === pid && task.endedAtMs === null)
  }

  take(event: WorkEvent, pid: number, nowMs: number): void {
    const task = this.#tasks.get(event.task)
    if (event.type === 'begun') {
      this.begun.push({ task: event.task, attempt: event.attempt, pid, startedAtMs: nowMs, how: 'orphaned' })
      const steps = new Map([...(task?.steps ?? [])].map(([key, step]) => [key, cutOff(step)] as const))
      const { request, attempt } = event
      const text = steps.get('generate')?.state === 'stored' ? (task?.text ?? '') : ''
      const begunAtMs = task?.begunAtMs ?? nowMs
      this.#tasks.set(event.task, { task: event.task, request, attempt, pid, text, steps, begunAtMs, endedAtMs: null })
      return
    }
    if (task === undefined || event.attempt < task.attempt) return
    this.#tasks.set(event.task, told(task, event, nowMs))
  }

  /** Its process is gone: what it was in the middle of is cut off. */
  fell(pid: number): void {
    for (const task of this.runningOn(pid)) {
      const steps = new Map([...task.steps].map(([key, step]) => [key, cutOff(step)] as const))
      this.#tasks.set(task.task, { ...task, steps })
    }
  }
}

function told(task: TaskStory, event: Exclude<WorkEvent, { type: 'begun' }>, nowMs: number): TaskStory {
  switch (event.type) {
    case 'text':
      return { ...task, text: task.text + event.text }
    case 'ended':
      return { ...task, endedAtMs: event.how === 'completed' ? nowMs : task.endedAtMs }
    case 'step': {
      const runs = (task.steps.get(event.key)?.runs ?? 0) + (event.state === 'running' ? 1 : 0)
      const steps = new Map(task.steps).set(event.key, { state: event.state, runs })
      return { ...task, steps }
    }
  }
}

/** What was stored answers the next attempt by itself; what was only in memory is gone with its process. */
function cutOff(step: StepStory): StepStory {
  if (step.state === 'in_memory') return { ...step, state: 'forgotten' }
  return step.state === 'running' ? { ...step, state: 'cut_off' } : step
}
