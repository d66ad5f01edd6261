import { setTimeout as pause } from 'node:timers/promises'
import type { Stage } from '../screen/stage.ts'
import type { World } from '../world/world.ts'
import { playMoments } from './play-script.ts'
import { Round } from './round.ts'
import type { Act } from './script.ts'

export interface SessionOptions {
  readonly world: World
  readonly stage: Stage
  readonly seed: number
  /** Aborts when the viewer has seen enough. */
  readonly stop: AbortSignal
}

/** One request every so often: each answer can be read. */
const GAP_MS = 1_500
const BUSY_MS = 2_500
const LOOK_MS = 100

const ACTS: Readonly<Record<string, Act>> = { k: 'kill', d: 'deploy', f: 'freeze' }

/**
 * The viewer's own demo. A round with the guard goes on until `g`; then the same seed is played without it, with the
 * same blows at the same moments, and the two bills stand side by side.
 */
export class Session {
  readonly #options: SessionOptions
  #round: Round | null = null
  #turn = 0
  #phase: 'guarded' | 'turning' | 'naive' | 'compared' = 'turning'
  #noticeTimer: NodeJS.Timeout | undefined
  #turning: Promise<void> = Promise.resolve()
  #failed: (error: unknown) => void = () => undefined

  constructor(options: SessionOptions) {
    this.#options = options
  }

  /** Goes on until it is stopped; rejects when something of it breaks. */
  async play(): Promise<never> {
    const failure = new Promise<never>((_, reject) => {
      this.#failed = reject
    })
    await this.#playGuarded()
    return await failure
  }

  press(key: string): void {
    const { stage } = this.#options
    if (key === 'l') stage.language = stage.language === 'ru' ? 'en' : 'ru'
    else if (key === 'g') this.#turnGuard()
    else if (ACTS[key] !== undefined) this.#act(ACTS[key])
  }

  async stop(): Promise<void> {
    clearTimeout(this.#noticeTimer)
    await this.#round?.stop()
    await this.#turning.catch(() => undefined)
    // What was on its way up meanwhile.
    await this.#round?.stop()
  }

  #act(act: Act): void {
    const { stage } = this.#options
    const round = this.#round
    if (round === null || this.#phase === 'turning' || this.#phase === 'compared') return
    if (round.acting !== null) {
      this.#say('busy')
      return
    }
    round.act(act, stage.writer).catch((error: unknown) => this.#failed(error))
  }

  #turnGuard(): void {
    const round = this.#round
    if (this.#phase === 'guarded' && round?.acts.length === 0 && round.acting === null) this.#say('firstAct')
    else if (this.#phase === 'guarded' && round !== null) this.#turnTo(() => this.#playNaive(round))
    else if (this.#phase === 'compared') this.#turnTo(() => this.#playGuarded())
  }

  #turnTo(play: () => Promise<void>): void {
    this.#phase = 'turning'
    this.#turning = play()
    this.#turning.catch((error: unknown) => this.#failed(error))
  }

  async #playGuarded(): Promise<void> {
    this.#turn += 1
    this.#stay(null)
    await this.#begin('on', null)
    this.#phase = 'guarded'
  }

  async #playNaive(guarded: Round): Promise<void> {
    const { stage, stop } = this.#options
    this.#stay('finishing')
    while (guarded.acting !== null && !stop.aborted) await pause(LOOK_MS)
    await guarded.settle()
    stage.finished(guarded)
    await guarded.stop()
    if (stop.aborted) return

    this.#stay('replaying')
    const naive = await this.#begin('off', guarded.accepted.length)
    this.#phase = 'naive'
    await playMoments(naive, guarded.acts, { writer: () => stage.writer, stop })
    while (!(naive.requestsAreOver && naive.acting === null) && !stop.aborted) await pause(LOOK_MS)
    await naive.settle()
    stage.finished(naive)
    await naive.stop()
    this.#phase = 'compared'
    this.#stay('compared')
  }

  async #begin(guard: 'on' | 'off', requestsMax: number | null): Promise<Round> {
    const { world, stage, seed, stop } = this.#options
    const round = new Round({
      world,
      guard,
      seed,
      name: `${guard === 'on' ? 'R' : 'N'}${this.#turn === 1 ? '' : this.#turn}`,
      gapMs: GAP_MS,
      requestsMax,
      resumesDeadLetters: true,
      language: () => stage.language,
      onNews: (news) => stage.note(news),
      stop,
    })
    this.#round = round
    stage.begin(round)
    await round.start()
    stage.opened()
    return round
  }

  #stay(notice: 'finishing' | 'replaying' | 'compared' | null): void {
    clearTimeout(this.#noticeTimer)
    this.#options.stage.notice = notice
  }

  #say(notice: 'busy' | 'firstAct'): void {
    const { stage } = this.#options
    const before = stage.notice === 'busy' || stage.notice === 'firstAct' ? null : stage.notice
    clearTimeout(this.#noticeTimer)
    stage.notice = notice
    this.#noticeTimer = setTimeout(() => {
      if (stage.notice === notice) stage.notice = before
    }, BUSY_MS)
  }
}
