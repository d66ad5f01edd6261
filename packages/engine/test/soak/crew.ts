import { type ForkedProcess, forkProcess } from '../chaos/forked-process.ts'
import { type Network, openNetwork } from '../chaos/network.ts'
import { type CuttingProxy, startCuttingProxy } from '../integration/cutting-proxy.ts'
import type { GuardName } from './guards.ts'
import type { FromSoakWorker, SoakWorkerSettings, ToSoakWorker } from './soak-worker.ts'

/** The workers: a fixed number of places, each with its own way to the database, and in each a process after another. */

export interface Slot {
  readonly network: Network
  readonly proxy: CuttingProxy
  /** Null between one process and the next. */
  life: Life | null
}

export interface Life {
  readonly process: ForkedProcess
  isStarted: boolean
  isFrozen: boolean
  isTold: boolean
}

export interface Crew {
  readonly slots: readonly Slot[]
  /** Guards that some statement has lost. */
  readonly cut: ReadonlySet<GuardName>
  block(slot: Slot, blockMs: number): void
  /** The process that comes next in this slot has its clock so far off. */
  skewNext(slot: Slot, seconds: number): void
  /** All of them up, as after a run's faults. */
  settle(): Promise<void>
  end(): Promise<void>
}

/** As an orchestrator does. */
const RESTART_AFTER_MS = 300

export async function startCrew({
  count,
  program,
  settings,
  faketime,
}: {
  readonly count: number
  /** Its path. */
  readonly program: string
  readonly settings: SoakWorkerSettings
  /** libfaketime's path; null where it is not installed. */
  readonly faketime: string | null
}): Promise<Crew> {
  const cut = new Set<GuardName>()
  const skews = new Map<Slot, number>()
  let isEnding = false
  let started: () => void = () => undefined

  const live = (slot: Slot): void => {
    if (isEnding) return
    const skew = skews.get(slot)
    skews.delete(slot)
    const child = forkProcess(
      program,
      { ...settings, url: slot.proxy.url },
      {
        env: skew === undefined || faketime === null ? {} : skewed(faketime, skew),
        onTold(message) {
          const told = message as unknown as FromSoakWorker
          if ('cut' in told) cut.add(told.cut)
          else {
            life.isStarted = true
            started()
          }
        },
      },
    )
    const life: Life = { process: child, isStarted: false, isFrozen: false, isTold: false }
    slot.life = life
    void child.exited.then(() => {
      slot.life = null
      if (!isEnding) setTimeout(() => live(slot), RESTART_AFTER_MS)
    })
  }

  const slots: Slot[] = []
  for (let n = 0; n < count; n += 1) {
    const network = await openNetwork(settings.url)
    slots.push({ network, proxy: await startCuttingProxy(network.url), life: null })
  }
  for (const slot of slots) live(slot)

  return {
    slots,
    cut,
    block: (slot, blockMs) => slot.life?.process.send({ blockMs } satisfies ToSoakWorker),
    skewNext: (slot, seconds) => skews.set(slot, seconds),
    async settle() {
      while (slots.some(({ life }) => life === null || !life.isStarted)) {
        await new Promise<void>((resolve) => {
          started = resolve
        })
      }
    },
    async end() {
      isEnding = true
      const lives = slots.flatMap(({ life }) => (life === null ? [] : [life]))
      for (const { process } of lives) process.kill('SIGKILL')
      await Promise.all(lives.map(({ process }) => process.exited))
      for (const { proxy, network } of slots) {
        await proxy[Symbol.asyncDispose]()
        network.close()
      }
    },
  }
}

/** The wall clock lies; time that passes stays what it is. */
function skewed(faketime: string, seconds: number): NodeJS.ProcessEnv {
  return {
    LD_PRELOAD: faketime,
    FAKETIME: `${seconds < 0 ? '-' : '+'}${Math.abs(seconds)}s`,
    FAKETIME_DONT_FAKE_MONOTONIC: '1',
    DONT_FAKE_MONOTONIC: '1',
  }
}
