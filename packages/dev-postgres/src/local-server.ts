import { existsSync } from 'node:fs'
import type { DevPostgres } from './dev-postgres.ts'
import { DevPostgresError } from './errors.ts'
import { inside } from './folders.ts'
import { withLock } from './lock.ts'
import { readPostmaster } from './postmaster-file.ts'
import { type Launch, launch, type StopMode, shutDown } from './server.ts'

/** What differs between a server whose data are kept and a test's: who else uses it, and what happens at the end. */
export interface Lifetime {
  enter(): void
  leave(): 'others-remain' | 'was-last'
  afterLastStop(): void
}

export class LocalServer implements DevPostgres {
  readonly url: string
  readonly dataDir: string
  readonly port: number
  readonly #launch: Launch
  readonly #lifetime: Lifetime
  #isEntered = false

  constructor(url: string, launchOptions: Launch, lifetime: Lifetime) {
    this.url = url
    this.dataDir = launchOptions.home
    this.port = launchOptions.port
    this.#launch = launchOptions
    this.#lifetime = lifetime
  }

  get pid(): number {
    const found = readPostmaster(inside.data(this.dataDir))
    return found.kind === 'alive' ? found.pid : 0
  }

  async start(): Promise<void> {
    if (!existsSync(inside.data(this.dataDir))) {
      throw new DevPostgresError(
        'DATA_REMOVED',
        `${this.dataDir} is gone: stop() ended this test server for good. Cure: stop({ mode: 'fast' }) keeps the data.`,
      )
    }
    await withLock(inside.lock(this.dataDir), () => this.startLocked())
  }

  /** For the one who holds the folder's lock already. */
  async startLocked(): Promise<void> {
    const outcome = await launch(this.#launch)
    if (outcome.kind === 'port-in-use') throw portInUse(this.port)
    if (!this.#isEntered) this.#lifetime.enter()
    this.#isEntered = true
  }

  async stop(outage?: { readonly mode: StopMode }): Promise<void> {
    if (outage === undefined && !this.#isEntered) return
    // A test server's folder after its last stop: nothing is left to be stopped.
    if (!existsSync(this.dataDir)) return
    // Under the lock, so that nobody adopts the server in the moment between the last user's leaving and its end.
    await withLock(inside.lock(this.dataDir), async () => {
      if (outage !== undefined) await shutDown(this.dataDir, outage.mode)
      else await this.#leave()
    })
  }

  async #leave(): Promise<void> {
    // Asked again under the lock: two calls at once are as safe as one after the other.
    if (!this.#isEntered) return
    this.#isEntered = false
    if (this.#lifetime.leave() === 'others-remain') return
    await shutDown(this.dataDir, 'fast')
    this.#lifetime.afterLastStop()
  }

  async restart(outage: { readonly mode: StopMode } = { mode: 'fast' }): Promise<void> {
    await this.stop(outage)
    await this.start()
  }
}

export function portInUse(port: number): DevPostgresError {
  return new DevPostgresError(
    'PORT_IN_USE',
    `Port ${port} on 127.0.0.1 is taken by another program. Cure: end it, or give another port (0 picks a free one).`,
  )
}
