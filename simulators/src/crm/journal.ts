import { appendFileSync, existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs'
import { dirname } from 'node:path'
import type { Item, Order } from './records.ts'

export type Change =
  | { readonly kind: 'order'; readonly order: Order }
  | { readonly kind: 'order_removed'; readonly number: string }
  | { readonly kind: 'item'; readonly item: Item }

/** A file of changes, one JSON line each. A line is written before the change is answered, as a real CRM would. */
export class Journal {
  readonly #file: string

  constructor(file: string) {
    this.#file = file
    mkdirSync(dirname(file), { recursive: true })
  }

  read(): Change[] {
    if (!existsSync(this.#file)) return []
    const lines = readFileSync(this.#file, 'utf8').split('\n')
    // The process may have been killed while it wrote: what follows the last line end was never answered.
    const written = lines.slice(0, -1)
    if (lines.at(-1) !== '') appendFileSync(this.#file, '\n')
    return written.flatMap((line) => parseLine(line))
  }

  append(change: Change): void {
    appendFileSync(this.#file, `${JSON.stringify(change)}\n`)
  }

  clear(): void {
    rmSync(this.#file, { force: true })
  }
}

function parseLine(line: string): Change[] {
  try {
    return [JSON.parse(line) as Change]
  } catch {
    return []
  }
}
