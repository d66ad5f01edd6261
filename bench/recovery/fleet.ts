import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { connect, type Foothold } from 'foothold'
import pg from 'pg'
import type { Told } from './worker.ts'

/** A worker's process, with everything it told. */
export interface Life {
  readonly child: ChildProcess
  readonly startedAtMs: number
  readonly told: Told[]
}

export type OfTask = Extract<Told, { readonly task: string }>

/** Workers at defaults on a database of their own. */
export class Fleet {
  readonly foothold: Foothold
  readonly lives = new Set<Life>()
  readonly #pool: pg.Pool
  readonly #url: string
  readonly #lifeline: string
  /** Resolves what waits for the next message. */
  #look: () => void = () => undefined

  static async open(url: string, count: number, lifeline: string): Promise<Fleet> {
    const fleet = new Fleet(await connect(url, { logger: 'silent' }), url, lifeline)
    await Promise.all(Array.from({ length: count }, () => fleet.start()))
    return fleet
  }

  private constructor(foothold: Foothold, url: string, lifeline: string) {
    this.foothold = foothold
    this.#pool = new pg.Pool({ connectionString: url, max: 1 })
    this.#url = url
    this.#lifeline = lifeline
  }

  async query<Row extends pg.QueryResultRow>(sql: string, values: readonly unknown[]): Promise<Row[]> {
    return (await this.#pool.query<Row>(sql, [...values])).rows
  }

  async start(): Promise<void> {
    const child = fork(join(import.meta.dirname, 'worker.ts'), [this.#url, this.#lifeline], {
      execArgv: ['--conditions=@foothold/source', '--import', 'tsx'],
    })
    const life: Life = { child, startedAtMs: Date.now(), told: [] }
    this.lives.add(life)
    child.on('message', (told: Told) => {
      life.told.push(told)
      this.#look()
    })
    await this.seen(() => life.told.some(({ what }) => what === 'started') || null)
  }

  /** What was told of a task, and by whom, in the order of its times. */
  toldOf(task: string): { readonly life: Life; readonly told: OfTask }[] {
    return [...this.lives]
      .flatMap((life) => life.told.filter((told) => 'task' in told).map((told) => ({ life, told })))
      .filter(({ told }) => told.task === task)
      .toSorted((a, b) => a.told.atMs - b.told.atMs)
  }

  /** Looks again at every message, and now and then without one. */
  async seen<T>(what: () => T | null): Promise<T> {
    for (;;) {
      const found = what()
      if (found !== null) return found
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, 100)
        this.#look = () => {
          clearTimeout(timer)
          resolve()
        }
      })
    }
  }

  async end(life: Life): Promise<void> {
    this.lives.delete(life)
    if (life.child.exitCode !== null || life.child.signalCode !== null) return
    const exited = once(life.child, 'exit')
    life.child.kill('SIGKILL')
    await exited
  }

  async close(): Promise<void> {
    await Promise.all([...this.lives].map((life) => this.end(life)))
    await this.foothold.close()
    await this.#pool.end()
  }
}
