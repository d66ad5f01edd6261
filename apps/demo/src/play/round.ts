import { setTimeout as pause } from 'node:timers/promises'
import type { Language, SupportRequest } from '../agent/request.ts'
import type { Guard } from '../worker/messages.ts'
import { type Accepted, type Bill, billOf, doubledOf, EMPTY_BILL, lostOf } from '../world/bill.ts'
import { Crew } from '../world/crew.ts'
import type { Deeds } from '../world/outside.ts'
import { guardedQueue, naiveQueue, type Queue } from '../world/queue.ts'
import { arrivals } from '../world/requests.ts'
import type { World } from '../world/world.ts'
import { percentile, recoveriesMs } from './recovery.ts'
import type { Report } from './report.ts'
import type { Act, Moment } from './script.ts'
import { Story } from './story.ts'

export interface RoundOptions {
  readonly world: World
  readonly guard: Guard
  readonly seed: number
  /** Before each request's number: rounds share the ledgers. */
  readonly name: string
  readonly gapMs: number
  /** No more come after so many; null for no end. */
  readonly requestsMax: number | null
  /** A task whose worker is struck three times is set aside; where a viewer strikes, a person resumes it. */
  readonly resumesDeadLetters?: boolean
  readonly language: () => Language
  readonly onNews: (news: News) => void
  /** Ends every wait. */
  readonly stop: AbortSignal
}

export type News =
  | { readonly kind: 'killed'; readonly worker: string; readonly pid: number; readonly held: number }
  | { readonly kind: 'restarted'; readonly worker: string; readonly pid: number }
  | { readonly kind: 'frozen'; readonly worker: string; readonly pid: number; readonly held: number }
  | { readonly kind: 'woken'; readonly worker: string; readonly pid: number }
  | { readonly kind: 'deploying'; readonly release: string }
  | ({ readonly kind: 'released' } & ReleaseReport)
  | { readonly kind: 'delivered'; readonly request: string; readonly attempts: number }
  | { readonly kind: 'taken_over'; readonly requests: readonly string[]; readonly pid: number }
  | { readonly kind: 'set_aside'; readonly request: string }
  | { readonly kind: 'surprise'; readonly how: string }

export interface ReleaseReport {
  readonly release: string
  readonly workers: number
  readonly tookMs: number
  readonly handedOver: number
  readonly lost: number
  readonly doubled: number
}

/** Two heartbeats short of the default would be 20 s: nobody waits that long in front of a screen. */
export const HEARTBEAT_MS = 750
export const LEASE_MS = 3_000
export const FREEZE_MS = 5_500
const WORKERS = 2
const CONCURRENCY = 12
const LOOK_MS = 300
/** Nothing has happened for so long: what is missing will not come. */
const SILENCE_MS = 9_000
/** For a worker that writes to be there to be killed. */
const VICTIM_MS = 5_000

/** One way of working under one seed: requests come, workers fall, and everything is counted. */
export class Round {
  readonly guard: Guard
  readonly seed: number
  readonly story = new Story()
  readonly accepted: Accepted[] = []
  readonly requests = new Map<string, SupportRequest>()
  /** What was done to the workers, and when: to be done again in another round. */
  readonly acts: Moment[] = []
  readonly #options: RoundOptions
  readonly #crew: Crew
  readonly #startedAtMs = Date.now()
  readonly #isLoadOver = new AbortController()
  readonly #ended = new AbortController()
  /** The round's end or the demo's. */
  readonly #over: AbortSignal
  #queue: Queue | null = null
  #load: Promise<void> = Promise.resolve()
  #looking: Promise<void> = Promise.resolve()
  #deeds: Deeds = { records: [], replies: [], modelCalls: [] }
  #bill: Bill = EMPTY_BILL
  #firstRequestAtMs = Date.now()
  #lastEventAtMs = Date.now()
  #endedAtMs: number | null = null
  #acting: Act | null = null
  #handedOver = 0
  #delivered = new Set<string>()

  constructor(options: RoundOptions) {
    this.#options = options
    this.#over = AbortSignal.any([options.stop, this.#ended.signal])
    this.guard = options.guard
    this.seed = options.seed
    const { world, guard } = options
    this.#crew = new Crew({
      size: WORKERS,
      settings: {
        guard,
        databaseUrl: world.databaseUrl,
        ...world.outside.addresses,
        concurrency: CONCURRENCY,
        heartbeatMs: HEARTBEAT_MS,
        leaseMs: LEASE_MS,
      },
      onEvent: (event, pid) => this.#onEvent(event, pid),
      onSurprise: (pid, how) => {
        this.story.fell(pid)
        options.onNews({ kind: 'surprise', how })
      },
    })
  }

  get crew(): Crew {
    return this.#crew
  }

  get bill(): Bill {
    return this.#bill
  }

  /** How tasks came from one worker to another, as the workers tell it. */
  get passages(): { readonly handedOver: number; readonly orphaned: number; readonly slowestMs: number | null } {
    const recoveries = recoveriesMs(this.#crew.downs, this.story.begun)
    return { handedOver: this.#handedOver, orphaned: recoveries.length, slowestMs: percentile(recoveries, 1) }
  }

  get acting(): Act | null {
    return this.#acting
  }

  get elapsedMs(): number {
    return (this.#endedAtMs ?? Date.now()) - this.#firstRequestAtMs
  }

  get lost(): readonly string[] {
    return lostOf(this.accepted, this.#deeds)
  }

  /** Workers first: without them nobody knows the agent. */
  async start(): Promise<void> {
    const { world, guard } = this.#options
    this.#queue = guard === 'on' ? guardedQueue(world.foothold) : await naiveQueue(world.pool, () => this.story.begun)
    await this.#crew.start()
    this.#firstRequestAtMs = Date.now()
    this.#load = this.#keepAsking(this.#queue)
    this.#looking = this.#keepLooking()
  }

  /** Does it to the worker that `writer` names, or to the longest standing that writes; false when there is nobody, or something is under way. */
  async act(act: Act, writer: number | null): Promise<boolean> {
    if (this.#acting !== null) return false
    this.#acting = act
    try {
      const atMs = this.elapsedMs
      const isDone = act === 'deploy' ? await this.#deploy() : await this.#strike(act, writer)
      if (isDone) this.acts.push({ atMs, act })
      return isDone
    } finally {
      this.#acting = null
    }
  }

  /** No more requests; resolves when all that were accepted are answered, or nothing moves any more. */
  async settle(): Promise<void> {
    this.#isLoadOver.abort()
    await this.#load
    this.#lastEventAtMs = Date.now()
    while (Date.now() - this.#lastEventAtMs < SILENCE_MS && !this.#over.aborted) {
      await this.look()
      const running = this.#crew.members.some(({ pid }) => this.story.runningOn(pid).length > 0)
      if (!running && this.lost.length === 0) return
      await pause(LOOK_MS)
    }
  }

  get requestsAreOver(): boolean {
    const { requestsMax } = this.#options
    return requestsMax !== null && this.accepted.length >= requestsMax
  }

  async report(): Promise<Report> {
    await this.look()
    const tasks = this.accepted.map(({ task }) => task)
    const queue = this.#queue as Queue
    const [completed, attempts] = await Promise.all([queue.completed(tasks), queue.attempts(tasks)])
    const recoveries = recoveriesMs(this.#crew.downs, attempts)
    const count = (act: Act): number => this.acts.filter((one) => one.act === act).length
    return {
      guard: this.guard,
      seed: this.seed,
      leaseMs: LEASE_MS,
      tookMs: Date.now() - this.#startedAtMs,
      accepted: this.accepted.length,
      completed,
      lost: this.lost,
      recordsDoubled: this.#bill.recordsDoubled,
      repliesDoubled: this.#bill.repliesDoubled,
      handedOver: attempts.filter(({ how }) => how === 'handed_over').length,
      orphaned: recoveries.length,
      recoveryP50Ms: percentile(recoveries, 0.5),
      recoveryP99Ms: percentile(recoveries, 0.99),
      modelCallsRepeated: this.#bill.modelCallsRepeated,
      kills: count('kill'),
      deploys: count('deploy'),
      freezes: count('freeze'),
      freezeMs: FREEZE_MS,
      bill: this.#bill,
    }
  }

  async stop(): Promise<void> {
    this.#endedAtMs ??= Date.now()
    this.#isLoadOver.abort()
    this.#ended.abort()
    await this.#crew.stop()
    await Promise.allSettled([this.#load, this.#looking])
  }

  async look(): Promise<void> {
    this.#deeds = await this.#options.world.outside.look()
    this.#bill = billOf(this.accepted, this.#deeds)
    for (const { request, task } of this.accepted) {
      if (this.#delivered.has(request) || !this.#deeds.replies.includes(request)) continue
      this.#delivered.add(request)
      this.#options.onNews({ kind: 'delivered', request, attempts: this.story.get(task)?.attempt ?? 1 })
    }
  }

  async #keepLooking(): Promise<void> {
    while (!this.#over.aborted) {
      await this.look()
      if (this.#options.resumesDeadLetters === true && this.guard === 'on') await this.#resumeDeadLetters()
      await pause(LOOK_MS)
    }
  }

  async #resumeDeadLetters(): Promise<void> {
    const { foothold } = this.#options.world
    const { items } = await foothold.tasks({ status: 'dead_letter' })
    for (const { id } of items) {
      this.#options.onNews({ kind: 'set_aside', request: this.story.get(id)?.request ?? id })
      await foothold.resume(id)
    }
  }

  async #keepAsking(queue: Queue): Promise<void> {
    const { seed, name, gapMs, language } = this.#options
    const { signal } = this.#isLoadOver
    for (const { gapMs: waitMs, request } of arrivals(seed, { round: name, gapMs, language })) {
      if (this.requestsAreOver) return
      await pause(waitMs, undefined, { signal }).catch(() => undefined)
      if (signal.aborted) return
      this.requests.set(request.id, request)
      const task = await queue.submit(request)
      this.accepted.push({ request: request.id, task })
    }
  }

  #onEvent(event: Parameters<Story['take']>[0], pid: number): void {
    this.#lastEventAtMs = Date.now()
    this.story.take(event, pid, Date.now())
    if (event.type !== 'begun' || event.attempt === 1) return
    this.#options.onNews({ kind: 'taken_over', requests: [event.request], pid })
  }

  async #strike(act: 'kill' | 'freeze', writer: number | null): Promise<boolean> {
    const victim = await this.#victim(writer)
    if (victim === null) return false
    const { name, pid } = victim
    const held = this.story.runningOn(pid).length
    if (act === 'kill') {
      this.#options.onNews({ kind: 'killed', worker: name, pid, held })
      const restarted = this.#crew.kill(pid)
      this.story.fell(pid)
      await restarted
      const successor = this.#crew.members.find((member) => member.name === name)?.pid ?? 0
      this.#options.onNews({ kind: 'restarted', worker: name, pid: successor })
    } else {
      this.#options.onNews({ kind: 'frozen', worker: name, pid, held })
      await this.#crew.freeze(pid, FREEZE_MS)
      this.#options.onNews({ kind: 'woken', worker: name, pid })
    }
    return true
  }

  async #victim(writer: number | null): Promise<{ readonly name: string; readonly pid: number } | null> {
    const endsAtMs = Date.now() + VICTIM_MS
    for (;;) {
      const working = this.#crew.members.filter(({ state }) => state === 'working')
      const named = working.find(({ pid }) => pid === writer)
      if (named !== undefined) return named
      // The longest standing: a successor has its predecessor's tasks in hand, and the same ones would be struck again.
      const [victim] = working
        .filter(({ pid }) => this.#isWriting(pid) && this.story.runningOn(pid).length > 1)
        .toSorted((a, b) => a.startedAtMs - b.startedAtMs)
      if (victim !== undefined) return victim
      if (Date.now() > endsAtMs || this.#over.aborted) return null
      await pause(50)
    }
  }

  #isWriting(pid: number): boolean {
    return this.story.runningOn(pid).some(({ steps }) => steps.get('generate')?.state === 'running')
  }

  async #deploy(): Promise<boolean> {
    const atMs = Date.now()
    const underWay = this.accepted.filter(({ task }) => this.story.get(task)?.answeredAtMs == null)
    const deploying = this.#crew.deploy()
    const { release, members } = this.#crew
    this.#options.onNews({ kind: 'deploying', release })
    const { handedOver } = await deploying
    this.#handedOver += handedOver
    const tookMs = Date.now() - atMs
    void this.#reportRelease(underWay, { release, workers: members.length, tookMs, handedOver })
    return true
  }

  /** The release's line comes when what was under way has ended, and its figures are of exactly those requests. */
  async #reportRelease(underWay: readonly Accepted[], release: Omit<ReleaseReport, 'lost' | 'doubled'>): Promise<void> {
    while (!this.#over.aborted) {
      const open = underWay.some(({ task }) => this.story.get(task)?.answeredAtMs == null)
      if (!open || Date.now() - this.#lastEventAtMs > SILENCE_MS) break
      await pause(LOOK_MS)
    }
    if (this.#over.aborted) return
    const deeds = await this.#options.world.outside.look()
    const lost = lostOf(underWay, deeds).length
    const doubled = doubledOf(underWay, deeds).length
    this.#options.onNews({ kind: 'released', ...release, lost, doubled })
  }
}
