import type { Submission } from '@foothold/http-api'
import type { Agent, Foothold, Logger } from 'foothold'

export interface ServerOptions {
  readonly foothold: Foothold
  /** Every request must bear it, health excepted. Without one only loopback names are served. */
  readonly token?: string | undefined
  /** Besides `token`, opens /metrics and nothing else: Prometheus need not hold what cancels tasks. */
  readonly metricsToken?: string | undefined
  /** The page that shows tasks, at `/`. Default true. */
  readonly page?: boolean | undefined
  /** Agents whose code is at hand: their input is checked at submit instead of by the worker. */
  readonly agents?: readonly Agent[] | undefined
  /**
   * Looks at a submission before it is stored; gives it back, changed or not. Throw HttpProblem to refuse. Here belongs
   * what only the application knows, for instance which tenant a caller may act for.
   */
  readonly beforeSubmit?: ((submission: Submission, request: Request) => Submission | Promise<Submission>) | undefined
  /** Without a token: Host names that are right besides loopback's, where the application in front checks its callers. */
  readonly allowedHosts?: readonly string[] | undefined
  /** Default 8 MB. */
  readonly bodyBytesMax?: number | undefined
  /** Default 15,000: half of the shortest idle limit that proxies have in the field. */
  readonly keepAliveMs?: number | undefined
  /** Aborted when an application that listens by itself begins to close: ends the event streams. */
  readonly stopping?: AbortSignal | undefined
  /** Where failures of ours are told. Default: JSON lines on stderr. */
  readonly logger?: Logger | 'silent' | undefined
}
