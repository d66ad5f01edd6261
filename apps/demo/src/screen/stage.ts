import type { Language } from '../agent/request.ts'
import type { News, Round } from '../play/round.ts'
import type { TaskStory } from '../play/story.ts'
import type { Guard } from '../worker/messages.ts'
import {
  type AnswerView,
  type BillView,
  boxesOf,
  type LogEntry,
  type Notice,
  type ReleaseNews,
  type View,
  type Writer,
} from './view.ts'

/** Long enough to see that it was delivered. */
const LINGER_MS = 1_800
const LEFT_MS = 8_000
const LOG_MAX = 50
const TOGETHER_MS = 3_000

/** What stands on the screen: the round that is played, the one it is compared with, and the answer that is followed. */
export class Stage {
  language: Language
  notice: Notice | null = null
  readonly #seed: number
  readonly #leaseMs: number
  readonly #hasKeys: boolean
  readonly #finished = new Set<Round>()
  #guard: Guard
  #rounds: Record<Guard, Round | null> = { on: null, off: null }
  #log: LogEntry[] = []
  #release: ReleaseNews | null = null
  #followed: string | null = null
  #isOpen = false

  constructor(options: {
    readonly language: Language
    readonly guard: Guard
    readonly seed: number
    readonly leaseMs: number
    readonly hasKeys: boolean
  }) {
    this.language = options.language
    this.#guard = options.guard
    this.#seed = options.seed
    this.#leaseMs = options.leaseMs
    this.#hasKeys = options.hasKeys
  }

  get #round(): Round | null {
    return this.#rounds[this.#guard]
  }

  /** The process that writes the answer on the screen. */
  get writer(): number | null {
    const task = this.#followedTask(Date.now())
    return task === null || task.endedAtMs !== null ? null : task.pid
  }

  begin(round: Round): void {
    this.#guard = round.guard
    // A round with the guard begins a new comparison.
    this.#rounds = { on: null, ...(round.guard === 'off' ? this.#rounds : { off: null }), [round.guard]: round }
    this.#log = []
    this.#release = null
    this.#followed = null
    this.#isOpen = false
  }

  opened(): void {
    this.#isOpen = true
  }

  finished(round: Round): void {
    this.#finished.add(round)
  }

  note(news: News): void {
    if (news.kind === 'delivered') return
    if (news.kind === 'released') this.#release = news
    else if (news.kind !== 'taken_over') this.#release = null
    const entry = { atMs: this.#round?.elapsedMs ?? 0, news }
    this.#log = [...joined(this.#log, entry)].slice(-LOG_MAX)
  }

  view(): View {
    const round = this.#round
    return {
      language: this.language,
      guard: this.#guard,
      seed: this.#seed,
      leaseMs: this.#leaseMs,
      elapsedMs: this.#isOpen ? (round?.elapsedMs ?? 0) : 0,
      isStarting: !this.#isOpen,
      answer: this.#answer(),
      bills: { on: this.#bill('on'), off: this.#bill('off') },
      workers: (round === null || this.#finished.has(round) ? [] : round.crew.members).map(
        ({ name, pid, release, state }) => ({
          name,
          pid,
          release,
          state: pid === 0 ? 'gone' : state,
          inHand: round?.story.runningOn(pid).length ?? 0,
        }),
      ),
      log: this.#log,
      notice: this.notice,
      release: this.#release,
      hasKeys: this.#hasKeys,
    }
  }

  #bill(guard: Guard): BillView | null {
    const round = this.#rounds[guard]
    return round === null ? null : { ...round.bill, ...round.passages, isFinal: this.#finished.has(round) }
  }

  #answer(): AnswerView | null {
    const task = this.#followedTask(Date.now())
    const request = task === null ? undefined : this.#round?.requests.get(task.request)
    if (task === null || request === undefined) return null
    return {
      request: request.id,
      client: request.clientName,
      question: request.text,
      text: task.text,
      worker: this.#writerOf(task),
      attempt: task.attempt,
      boxes: boxesOf(task),
      isDelivered: task.answeredAtMs !== null,
    }
  }

  /** Delivered a while ago, or left by its worker for longer than a lease and nobody took it. */
  #isOver({ answeredAtMs, pid, toldAtMs }: TaskStory, nowMs: number): boolean {
    if (answeredAtMs !== null) return nowMs - answeredAtMs > LINGER_MS
    const isLeft = this.#round?.crew.members.every((member) => member.pid !== pid)
    return isLeft === true && nowMs - toldAtMs > LEFT_MS
  }

  #writerOf({ pid, answeredAtMs }: TaskStory): Writer {
    const member = this.#round?.crew.members.find((one) => one.pid === pid)
    if (answeredAtMs === null && member === undefined) return { kind: 'gone' }
    if (answeredAtMs === null && member?.state === 'frozen') return { kind: 'frozen', name: member.name }
    return { kind: 'at_work', name: member?.name ?? '', pid }
  }

  /** Stays with an answer to its end, whoever writes it; then turns to the newest. */
  #followedTask(nowMs: number): TaskStory | null {
    const story = this.#round?.story
    if (story === undefined) return null
    const followed = this.#followed === null ? undefined : story.get(this.#followed)
    if (followed !== undefined && !this.#isOver(followed, nowMs)) return followed
    const next = story.tasks.findLast(({ answeredAtMs }) => answeredAtMs === null) ?? followed
    this.#followed = next?.task ?? null
    return next ?? null
  }
}

/** Tasks that one worker takes over together stand in one line. */
function joined(log: readonly LogEntry[], entry: LogEntry): LogEntry[] {
  const last = log.at(-1)
  const isSame =
    entry.news.kind === 'taken_over' &&
    last?.news.kind === 'taken_over' &&
    last.news.pid === entry.news.pid &&
    entry.atMs - last.atMs < TOGETHER_MS
  if (!isSame || entry.news.kind !== 'taken_over' || last?.news.kind !== 'taken_over') return [...log, entry]
  const requests = [...last.news.requests, ...entry.news.requests]
  return [...log.slice(0, -1), { atMs: last.atMs, news: { ...last.news, requests } }]
}
