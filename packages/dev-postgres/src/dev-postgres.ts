import type { StopMode } from './server.ts'

/** A running PostgreSQL. The URL, the port and the data stay the same through every stop and start. */
export interface DevPostgres {
  /** Of the database `foothold`, with the password. */
  readonly url: string
  readonly dataDir: string
  readonly port: number
  /** Of the postmaster, as of now; another one after a restart. */
  readonly pid: number
  /**
   * Without a mode: this program needs the server no more. The last program to say so stops it, and a test server's
   * data are removed. With a mode: the server goes down now, whoever uses it, and its data stay for `start()`.
   */
  stop(outage?: { readonly mode: StopMode }): Promise<void>
  /** Up again after a stop or a crash; nothing happens when it is up. */
  start(): Promise<void>
  restart(outage?: { readonly mode: StopMode }): Promise<void>
}
