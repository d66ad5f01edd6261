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
  /** When the newest attempt completed. */
  readonly endedAtMs: number | null
  /** When any attempt did: one that was overtaken may come first. */
  readonly answeredAtMs: number | null
  readonly toldAtMs: number
}

export interface StepStory {
  readonly state: 'waiting' | 'running' | 'stored' | 'in_memory' | 'cut_off' | 'forgotten'
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
      const steps = new Map([...(task?.steps ?? [])].map(([key, step]) => [key, begunAgain(step)] as const))
      const { request, attempt } = event
      const text = steps.get('generate')?.state === 'stored' ? (task?.text ?? '') : ''
      const { begunAtMs = nowMs, answeredAtMs = null } = task ?? {}
      const fresh = { task: event.task, request, attempt, pid, text, steps, begunAtMs, answeredAtMs }
      this.#tasks.set(event.task, { ...fresh, endedAtMs: null, toldAtMs: nowMs })
      return
    }
    if (task === undefined) return
    const isAnswer = event.type === 'ended' && event.how === 'completed'
    const known = isAnswer ? { ...task, answeredAtMs: task.answeredAtMs ?? nowMs } : task
    this.#tasks.set(
      event.task,
      event.attempt < task.attempt ? known : { ...told(known, event, nowMs), toldAtMs: nowMs },
    )
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

function begunAgain(step: StepStory): StepStory {
  const { state } = cutOff(step)
  return state === 'cut_off' ? { ...step, state: 'waiting' } : { ...step, state }
}

/** What was stored answers the next attempt by itself; what was only in memory is gone with its process. */
function cutOff(step: StepStory): StepStory {
  if (step.state === 'in_memory') return { ...step, state: 'forgotten' }
  return step.state === 'running' ? { ...step, state: 'cut_off' } : step
}
