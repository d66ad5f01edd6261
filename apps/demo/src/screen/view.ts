import type { Language } from '../agent/request.ts'
import type { News } from '../play/round.ts'
import type { StepStory, TaskStory } from '../play/story.ts'
import type { Guard } from '../worker/messages.ts'
import type { Bill } from '../world/bill.ts'

/** All that a frame is drawn from. */
export interface View {
  readonly language: Language
  readonly guard: Guard
  readonly seed: number
  readonly leaseMs: number
  readonly elapsedMs: number
  /** Null while everything starts. */
  readonly answer: AnswerView | null
  readonly isStarting: boolean
  readonly bills: { readonly on: BillView | null; readonly off: BillView | null }
  readonly workers: readonly WorkerLine[]
  readonly log: readonly LogEntry[]
  readonly notice: Notice | null
  /** The last one that was reported. */
  readonly release: ReleaseNews | null
  /** Without keys nobody is told of any. */
  readonly hasKeys: boolean
}

export type ReleaseNews = Extract<News, { kind: 'released' }>

export type Notice = 'busy' | 'firstAct' | 'replaying' | 'finishing' | 'compared'

export interface AnswerView {
  readonly request: string
  readonly client: string
  readonly question: string
  readonly text: string
  readonly worker: Writer
  readonly attempt: number
  readonly boxes: readonly Box[]
  readonly isDelivered: boolean
}

export type Writer =
  | { readonly kind: 'at_work'; readonly name: string; readonly pid: number }
  | { readonly kind: 'frozen'; readonly name: string }
  | { readonly kind: 'gone' }

export interface BillView extends Bill {
  readonly handedOver: number
  readonly orphaned: number
  /** The longest time from a blow to the next attempt of a task that was struck. */
  readonly slowestMs: number | null
  /** Counted to its end: what is missing now is lost. */
  readonly isFinal: boolean
}

export interface WorkerLine {
  readonly name: string
  readonly pid: number
  readonly release: string
  readonly state: 'starting' | 'working' | 'draining' | 'frozen' | 'gone'
  readonly inHand: number
}

export interface LogEntry {
  readonly atMs: number
  readonly news: News
}

export const STEP_NAMES = ['retrieve', 'plan', 'tool_call', 'generate', 'verify'] as const

export interface Box {
  readonly name: (typeof STEP_NAMES)[number]
  readonly state: BoxState
}

export type BoxState = 'again' | StepStory['state']

/** The planned calls share a box; the liveliest of them speaks for it. */
export function boxesOf({ steps }: Pick<TaskStory, 'steps'>): Box[] {
  return STEP_NAMES.map((name) => {
    const inside = [...steps].flatMap(([key, step]) => (key === name || key.startsWith(`${name}:`) ? [step] : []))
    return { name, state: boxState(inside) }
  })
}

function boxState(steps: readonly StepStory[]): BoxState {
  const running = steps.filter(({ state }) => state === 'running')
  if (running.some(({ runs }) => runs > 1)) return 'again'
  for (const state of ['running', 'cut_off', 'forgotten', 'in_memory', 'stored'] as const) {
    if (steps.some((step) => step.state === state)) return state
  }
  return 'waiting'
}
