import type { IncomingMessage } from 'node:http'

export interface ServerEnv {
  Variables: { requestId: string }
  Bindings: {
    /** Aborts when the listening server begins to close; `serve` gives it. */
    readonly stopping?: AbortSignal
    /** Whoever listens has checked the caller already; `serve` says so. */
    readonly callersAreChecked?: boolean
    /** Node's request, where a Node server listens; Express adds the address before its own routing. */
    readonly incoming?: IncomingMessage & { readonly originalUrl?: string }
  }
}
