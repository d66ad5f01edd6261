import { join } from 'node:path'
import { DevPostgresError } from './errors.ts'

export interface DevPostgresOptions {
  /** Where the data are; `.foothold/postgres` in the current folder unless given. Not for purpose 'test'. */
  readonly dataDir?: string
  /** 0 or nothing: a free one, remembered in the data folder, so that the URL is the same at the next start. */
  readonly port?: number
  /** 'keep' (the default) keeps its data between runs; 'test' is fast, unsafe on purpose, and leaves nothing. */
  readonly purpose?: 'keep' | 'test'
  /** Told where things are and what was found; nothing is said unless there is something to say. */
  readonly log?: (line: string) => void
}

export interface Wish {
  readonly dataDir: string
  readonly port: number | undefined
  readonly log: (line: string) => void
}

export function readOptions(options: DevPostgresOptions): Wish {
  const { dataDir = join(process.cwd(), '.foothold', 'postgres'), port = 0, log = () => {} } = options
  if (!Number.isInteger(port) || port < 0 || port > 65_535) {
    throw new DevPostgresError(
      'OPTION_INVALID',
      `port is ${port}; give a whole number from 1 to 65535, or 0 for a free one.`,
    )
  }
  if (dataDir === '') throw new DevPostgresError('OPTION_INVALID', 'dataDir is empty; give a folder or leave it out.')
  if (options.purpose === 'test' && options.dataDir !== undefined) {
    throw new DevPostgresError(
      'OPTION_INVALID',
      "dataDir is given, but purpose 'test' has a folder of its own; leave one out.",
    )
  }
  return { dataDir, port: port === 0 ? undefined : port, log }
}
