import { type ChildProcess, fork } from 'node:child_process'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { WorkEvent, WorkerMessage, WorkerSettings } from '../worker/messages.ts'
import { freeze } from './frozen.ts'

/**
 * The worker processes. Whoever dies unbidden is started again in its place, as a platform would; a deploy replaces them
 * one after the other.
 */
export interface Member {
  readonly name: string
  readonly pid: number
  readonly release: string
  readonly state: 'starting' | 'working' | 'draining' | 'frozen'
  readonly startedAtMs: number
}

/** A worker that fell silent, by our own hand. */
export interface Down {
  readonly pid: number
  readonly atMs: number
}

export interface CrewOptions {
  readonly size: number
  readonly settings: Omit<WorkerSettings, 'release'>
  readonly onEvent: (event: WorkEvent, pid: number) => void
  /** A worker that nobody here has stopped has ended. */
  readonly onSurprise: (pid: number, how: string) => void
}

const ENTRY = fileURLToPath(
  new URL(import.meta.url.endsWith('.ts') ? '../worker/process.ts' : '../worker/process.js', import.meta.url),
)
/** Several processes load at once, on a machine that may have other things to do. */
const START_MS = 60_000
/** The grace of a worker, and its last writes. */
const STOP_MS = 12_000

export class Crew {
  readonly downs: Down[] = []
  readonly #options: CrewOptions
  readonly #slots: Slot[] = []
  #release = 1
  readonly #over = new AbortController()

  constructor(options: CrewOptions) {
    this.#options = options
  }

  get release(): string {
    return `v${this.#release}`
  }

  get members(): readonly Member[] {
    return this.#slots.map(({ name, release, state, startedAtMs, child }) => ({
      name,
      release,
      state,
      startedAtMs,
      pid: child?.pid ?? 0,
    }))
  }

  async start(): Promise<void> {
    const names = Array.from({ length: this.#options.size }, (_, index) => String.fromCharCode(65 + index))
    await Promise.all(
      names.map((name) => {
        const slot: Slot = {
          name,
          release: this.release,
          state: 'starting',
          startedAtMs: 0,
          child: null,
          handedOver: 0,
        }
        this.#slots.push(slot)
        return this.#spawn(slot)
      }),
    )
  }

  /** `kill -9`; resolves when its successor works. */
  async kill(pid: number): Promise<void> {
    const slot = this.#slotOf(pid)
    this.downs.push({ pid, atMs: Date.now() })
    const gone = goneOf(slot.child)
    slot.child?.kill('SIGKILL')
    await gone
    await this.#spawn(slot)
  }

  /** SIGSTOP, and SIGCONT later. */
  async freeze(pid: number, forMs: number): Promise<void> {
    const slot = this.#slotOf(pid)
    this.downs.push({ pid, atMs: Date.now() })
    const held = freeze(pid)
    slot.state = 'frozen'
    await pause(forMs, undefined, { signal: this.#over.signal }).catch(() => undefined)
    await held.wake()
    if (slot.child?.pid === pid) slot.state = 'working'
  }

  /** Every worker in turn: SIGTERM, and a new process with the new label. */
  async deploy(): Promise<{ readonly handedOver: number }> {
    this.#release += 1
    let handedOver = 0
    for (const slot of this.#slots) {
      const old = slot.child
      slot.state = 'draining'
      const gone = goneOf(old)
      old?.kill('SIGTERM')
      const limit = setTimeout(() => old?.kill('SIGKILL'), STOP_MS)
      await gone
      clearTimeout(limit)
      handedOver += slot.handedOver
      await this.#spawn(slot)
    }
    return { handedOver }
  }

  /** At once: what they were doing ends with the demo. */
  async stop(): Promise<void> {
    this.#over.abort()
    await Promise.all(
      this.#slots.map(async ({ child }) => {
        const gone = goneOf(child)
        child?.kill('SIGKILL')
        await gone
      }),
    )
  }

  #slotOf(pid: number): Slot {
    const slot = this.#slots.find(({ child }) => child?.pid === pid)
    if (slot === undefined) throw new Error(`no worker has pid ${pid}`)
    return slot
  }

  async #spawn(slot: Slot): Promise<void> {
    if (this.#over.signal.aborted) return
    slot.release = this.release
    slot.state = 'starting'
    slot.startedAtMs = Date.now()
    slot.handedOver = 0
    const child = fork(ENTRY, { detached: true, stdio: ['ignore', 'ignore', 'pipe', 'ipc'] })
    slot.child = child
    let errors = ''
    child.stderr?.on('data', (data: Buffer) => {
      errors = `${errors}${String(data)}`.slice(-2_000)
    })
    child.send({ ...this.#options.settings, release: slot.release } satisfies WorkerSettings, () => undefined)
    await new Promise<void>((resolve, reject) => {
      const late = setTimeout(() => reject(new Error(`a worker took over ${START_MS} ms to start`)), START_MS)
      child.on('message', (message) => {
        const told = message as WorkerMessage
        if (told.type === 'drained') slot.handedOver = told.handedOver
        else if (told.type === 'ready') {
          slot.state = 'working'
          clearTimeout(late)
          resolve()
        } else this.#options.onEvent(told, child.pid ?? 0)
      })
      child.once('exit', (code, signal) => {
        clearTimeout(late)
        const isExpected =
          this.#over.signal.aborted || slot.child !== child || signal === 'SIGKILL' || slot.state === 'draining'
        if (slot.child === child) slot.child = null
        if (isExpected) return resolve()
        const how = `${signal ?? `exit code ${code}`}${errors === '' ? '' : `: ${errors.trim()}`}`
        if (slot.state === 'starting') return reject(new Error(`a worker did not start: ${how}`))
        this.#options.onSurprise(child.pid ?? 0, how)
        resolve()
        this.#spawn(slot).catch((error: unknown) => this.#options.onSurprise(0, String(error)))
      })
    })
  }
}

interface Slot {
  readonly name: string
  release: string
  state: Member['state']
  startedAtMs: number
  child: ChildProcess | null
  handedOver: number
}

function goneOf(child: ChildProcess | null): Promise<void> {
  if (child === null || child.exitCode !== null || child.signalCode !== null) return Promise.resolve()
  return new Promise((resolve) => {
    child.once('exit', () => resolve())
  })
}
