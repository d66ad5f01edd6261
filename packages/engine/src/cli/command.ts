import type { Connection } from './connection.ts'
import type { Output } from './output.ts'

export interface OptionSpec {
  /** What stands behind it in the help, `<name>`; absent for a flag. */
  readonly value?: string
  readonly about: string
}

export interface ArgumentSpec {
  readonly name: string
  readonly about: string
}

export interface Command {
  /** Its words: `migrate`, `tasks show`. */
  readonly name: string
  /** Other words for the same. */
  readonly aliases?: readonly string[]
  /** One line, in the list of commands. */
  readonly summary: string
  /** More for its own help: paragraphs. */
  readonly details?: string
  readonly arguments: readonly ArgumentSpec[]
  readonly options: Readonly<Record<string, OptionSpec>>
  /** It answers stop signals itself and is not cut off by them. */
  readonly handlesStop?: boolean
  /** The exit code. */
  run(given: Given, context: Context): Promise<number>
}

/** What stood on the command line, checked against the command's own list. */
export interface Given {
  readonly command: string
  readonly arguments: readonly string[]
  readonly values: Readonly<Record<string, string>>
  readonly flags: ReadonlySet<string>
}

export interface Context {
  readonly env: NodeJS.ProcessEnv
  readonly cwd: string
  readonly out: Output
  readonly isJson: boolean
  readonly url: string | undefined
  /** Aborts on SIGINT and SIGTERM. */
  readonly stop: AbortSignal
  /** Closed when the command ends. */
  readonly connect: () => Promise<Connection>
}
