import { randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { inside } from './folders.ts'
import { isAlive } from './processes.ts'

/**
 * Which programs use the server of a data folder: one empty file each, named by the program's pid. The last one to
 * leave stops the server. A killed program's file means nothing once its pid is gone.
 */
export class Users {
  readonly #folder: string
  readonly #mine: string

  constructor(home: string) {
    this.#folder = inside.users(home)
    this.#mine = join(this.#folder, `${process.pid}-${randomBytes(4).toString('hex')}`)
  }

  enter(): void {
    mkdirSync(this.#folder, { recursive: true })
    for (const name of this.#names()) if (!isAlive(pidOf(name))) rmSync(join(this.#folder, name), { force: true })
    writeFileSync(this.#mine, '')
  }

  /** Programs other than the one that asks, which may not have joined yet. */
  hasOthers(): boolean {
    return this.#names().some((name) => join(this.#folder, name) !== this.#mine && isAlive(pidOf(name)))
  }

  leave(): 'others-remain' | 'was-last' {
    rmSync(this.#mine, { force: true })
    return this.hasOthers() ? 'others-remain' : 'was-last'
  }

  #names(): string[] {
    return existsSync(this.#folder) ? readdirSync(this.#folder) : []
  }
}

function pidOf(name: string): number {
  return Number(name.split('-')[0])
}
