import { type ChildProcess, fork } from 'node:child_process'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'

export interface ChildSpec {
  readonly name: string
  /** The program's own main module: run from source or built, whichever we are. */
  readonly module: string
  readonly args: readonly string[]
  readonly environment: Record<string, string | undefined>
  /** From the request to end until it is killed. */
  readonly stopMs: number
  readonly onLine: (name: string, line: string) => void
  /** It ended by itself and will be started again after so long. */
  readonly onRestart: (name: string, how: string, inMs: number) => void
}

export interface ReadyMessage {
  readonly type: 'ready'
  readonly [field: string]: unknown
}

const RESTART_FIRST_MS = 200
const RESTART_MAX_MS = 10_000
/** Alive for so long, the next death counts as the first one. */
const STEADY_MS = 30_000
/** After "hurry": the last writes of a worker take about one second. */
const HURRIED_MS = 2_500

/** A child in a process group of its own, so that Ctrl-C reaches it through us and in our order. Restarted when it dies. */
export class ChildKeeper {
  readonly #spec: ChildSpec
  #process: ChildProcess | null = null
  #isStopping = false
  #deaths = 0
  #restart: NodeJS.Timeout | null = null
  #kill: NodeJS.Timeout | null = null
  #exitCode: number | null = null

  constructor(spec: ChildSpec) {
    this.#spec = spec
  }

  get name(): string {
    return this.#spec.name
  }

  get pid(): number | null {
    return this.#process?.pid ?? null
  }

  /** Resolves when the child says that it is ready; rejects when it ends before it ever was. */
  start(): Promise<ReadyMessage> {
    return new Promise((resolve, reject) => {
      this.#spawn(resolve, (how) => reject(new Error(`${this.name} ended before it was ready (${how})`)))
    })
  }

  #spawn(onReady: (message: ReadyMessage) => void, onEarlyEnd: ((how: string) => void) | null): void {
    const { name, module, args, environment, onLine } = this.#spec
    const child = fork(module, args, { detached: true, env: environment, stdio: ['ignore', 'pipe', 'pipe', 'ipc'] })
    const startedMs = performance.now()
    let isReady = false
    this.#process = child
    for (const stream of [child.stdout, child.stderr]) {
      createInterface({ input: stream as Readable }).on('line', (line) => onLine(name, line))
    }
    child.on('message', (message) => {
      if ((message as Partial<ReadyMessage>)?.type !== 'ready') return
      isReady = true
      onReady(message as ReadyMessage)
    })
    child.on('error', (error) => onLine(name, `could not be started: ${error.message}`))
    child.on('close', (code, signal) => {
      this.#process = null
      this.#exitCode = code
      if (this.#kill !== null) clearTimeout(this.#kill)
      if (this.#isStopping) return
      const how = signal ?? `exit code ${code}`
      if (!isReady && onEarlyEnd !== null) onEarlyEnd(how)
      else this.#again(how, performance.now() - startedMs)
    })
  }

  #again(how: string, aliveMs: number): void {
    if (aliveMs > STEADY_MS) this.#deaths = 0
    const delayMs = Math.min(RESTART_MAX_MS, RESTART_FIRST_MS * 2 ** this.#deaths)
    this.#deaths += 1
    this.#spec.onRestart(this.name, how, delayMs)
    this.#restart = setTimeout(() => this.#spawn(() => undefined, null), delayMs)
  }

  /** Asks it to end and waits; past its limit it is killed. Resolves with its exit code, null when it was killed. */
  async stop(): Promise<number | null> {
    this.#isStopping = true
    if (this.#restart !== null) clearTimeout(this.#restart)
    const child = this.#process
    if (child === null) return this.#exitCode ?? 0
    const closed = new Promise<void>((resolve) => child.once('close', () => resolve()))
    child.kill('SIGTERM')
    this.#killAfter(this.#spec.stopMs)
    await closed
    return this.#exitCode
  }

  hurry(): void {
    const child = this.#process
    if (child === null) return
    if (child.connected) child.send('hurry', () => undefined)
    this.#killAfter(HURRIED_MS)
  }

  #killAfter(ms: number): void {
    if (this.#kill !== null) clearTimeout(this.#kill)
    this.#kill = setTimeout(() => this.#process?.kill('SIGKILL'), ms)
  }
}
