import { REASONS } from '../protocol/reasons.ts'
import type { Usage } from '../protocol/task-context.ts'
import { METRICS } from './catalogue.ts'
import { Counter, type Family, gauge, Histogram } from './instruments.ts'

/**
 * What this process did, counted as it does it. Every label set that can be known stands at 0 from the start, so that
 * the first event of a kind is an increase.
 */

/** The reason of an attempt that ended in a plain wait. */
const NO_REASON = 'none'
const STEP_KINDS = ['step', 'transaction', 'effect'] as const
const ORPHAN_OUTCOMES = ['pending', 'dead_letter', 'cancelled'] as const
const WORKER_STATUSES = ['new', 'active', 'draining'] as const
const CAUSES = ['handed_over', 'orphaned'] as const

/** An agent's label is the task's `agent`: its name, or `name/dead_letter` for the follow-up of a dead letter. */
export interface MeteredAgent {
  readonly agent: string
  /** Besides those that the engine knows. */
  readonly reasons: readonly string[]
}

export interface MeteredWorker {
  readonly status: 'new' | 'active' | 'draining' | 'stopped'
  readonly running: number
  readonly concurrency: number
  readonly release: string
  /** Null before the first heartbeat. */
  readonly heartbeatAgeMs: number | null
}

/** How an attempt ended, in the words of `attempts.outcome`; `lost`: it was not ours any more. */
export interface EndedAttempt {
  readonly kind: 'completed' | 'cancelled' | 'waiting' | 'handed_over' | 'lost' | 'dead_letter'
  readonly reason?: string | null
}

export class Meter {
  readonly #submitted = new Counter(METRICS.tasksSubmitted)
  readonly #claimed = new Counter(METRICS.tasksClaimed)
  readonly #attemptsEnded = new Counter(METRICS.attemptsEnded)
  readonly #handovers = new Counter(METRICS.handovers)
  readonly #orphans = new Counter(METRICS.orphans)
  readonly #workersLost = new Counter(METRICS.workersLost)
  readonly #deadLetters = new Counter(METRICS.deadLetters)
  readonly #recovery = new Histogram(METRICS.recovery)
  readonly #stepDuration = new Histogram(METRICS.stepDuration)
  readonly #stepFailures = new Counter(METRICS.stepFailures)
  readonly #modelTokens = new Counter(METRICS.modelTokens)
  readonly #workers = new Set<MeteredWorker>()

  constructor() {
    for (const outcome of ORPHAN_OUTCOMES) this.#orphans.expect([outcome])
    for (const cause of CAUSES) this.#recovery.expect([cause])
  }

  /** A worker of this process, until it has stopped. */
  watch(worker: MeteredWorker, agents: readonly MeteredAgent[]): void {
    this.#workers.add(worker)
    for (const { agent, reasons } of agents) {
      this.#claimed.expect([agent])
      this.#handovers.expect([agent])
      for (const kind of STEP_KINDS) this.#stepDuration.expect([agent, kind])
      this.#attemptsEnded.expect([agent, NO_REASON])
      for (const reason of [...REASONS, ...reasons]) {
        this.#attemptsEnded.expect([agent, reason])
        this.#deadLetters.expect([agent, reason])
        this.#stepFailures.expect([agent, reason])
      }
    }
  }

  /** Agents that some worker registered: what this process may submit. */
  knows(agents: readonly string[]): void {
    for (const agent of agents) this.#submitted.expect([agent])
  }

  submitted(agent: string): void {
    this.#submitted.add([agent])
  }

  claimed(agent: string, recovery: { readonly cause: string; readonly seconds: number } | null): void {
    this.#claimed.add([agent])
    if (recovery !== null) this.#recovery.observe([recovery.cause], Math.max(0, recovery.seconds))
  }

  attemptEnded(agent: string, ended: EndedAttempt): void {
    this.#attemptsEnded.add([agent, reasonOf(ended)])
    if (ended.kind === 'handed_over') this.#handovers.add([agent])
    if (ended.kind === 'dead_letter') this.#deadLetters.add([agent, reasonOf(ended)])
  }

  orphanTaken(agent: string, outcome: (typeof ORPHAN_OUTCOMES)[number]): void {
    this.#orphans.add([outcome])
    const kind = outcome === 'pending' ? 'lost' : outcome
    this.attemptEnded(agent, { kind, reason: outcome === 'cancelled' ? 'cancelled' : 'orphaned' })
  }

  workersLost(count: number): void {
    this.#workersLost.add([], count)
  }

  stepStored(agent: string, kind: (typeof STEP_KINDS)[number], seconds: number): void {
    this.#stepDuration.observe([agent, kind], seconds)
  }

  stepFailed(agent: string, reason: string): void {
    this.#stepFailures.add([agent, reason])
  }

  tokens(agent: string, { model, inputTokens, outputTokens }: Usage, fate: 'kept' | 'wasted'): void {
    const directions = [
      ['input', inputTokens],
      ['output', outputTokens],
    ] as const
    for (const [direction, count] of directions) {
      // All label sets of a model at once, so that its first wasted token is an increase.
      for (const each of ['kept', 'wasted']) this.#modelTokens.expect([agent, model, direction, each])
      if (count > 0) this.#modelTokens.add([agent, model, direction, fate], count)
    }
  }

  families(): readonly Family[] {
    return [
      this.#submitted.family(),
      this.#claimed.family(),
      this.#attemptsEnded.family(),
      this.#handovers.family(),
      this.#orphans.family(),
      this.#workersLost.family(),
      this.#deadLetters.family(),
      this.#recovery.family(),
      this.#stepDuration.family(),
      this.#stepFailures.family(),
      this.#modelTokens.family(),
      ...this.#workerGauges(),
    ]
  }

  #workerGauges(): readonly Family[] {
    for (const worker of this.#workers) if (worker.status === 'stopped') this.#workers.delete(worker)
    const workers = [...this.#workers]
    const releases = [...new Set(workers.map(({ release }) => release))]
    const ages = workers.flatMap(({ heartbeatAgeMs }) => (heartbeatAgeMs === null ? [] : [heartbeatAgeMs / 1_000]))
    const countOf = (isOne: (worker: MeteredWorker) => boolean): number => workers.filter(isOne).length
    return [
      gauge(
        METRICS.workers,
        WORKER_STATUSES.map((status) => [[status], countOf((worker) => worker.status === status)]),
      ),
      gauge(
        METRICS.workerInfo,
        releases.map((release) => [[release], countOf((worker) => worker.release === release)]),
      ),
      gauge(METRICS.workerSlots, [[[], workers.reduce((sum, { concurrency }) => sum + concurrency, 0)]]),
      gauge(METRICS.workerSlotsInUse, [[[], workers.reduce((sum, { running }) => sum + running, 0)]]),
      gauge(METRICS.heartbeatAge, ages.length === 0 ? [] : [[[], Math.max(...ages)]]),
    ]
  }
}

function reasonOf({ kind, reason = null }: EndedAttempt): string {
  switch (kind) {
    case 'completed':
    case 'cancelled':
      return kind
    case 'waiting':
      return reason ?? NO_REASON
    case 'lost':
      return reason ?? 'lease_lost'
    case 'handed_over':
      return reason ?? 'graceful_shutdown'
    case 'dead_letter':
      return reason ?? 'step_failed'
  }
}
