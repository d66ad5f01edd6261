import type { Foothold } from '../protocol/foothold.ts'
import { optionalPackage } from './optional-package.ts'

/** The part of @foothold/server that is used here; its types are not: this library does not depend on it. */
interface ServerPackage {
  readonly serve: (options: {
    readonly foothold: Foothold
    readonly host?: string | undefined
    readonly port?: number | undefined
    readonly token?: string | undefined
    readonly metricsToken?: string | undefined
  }) => Promise<Listening>
}

export interface Listening {
  readonly url: string
  readonly close: () => Promise<void>
}

export function serverPackage(where: { readonly cwd: string; readonly command: string }): Promise<ServerPackage> {
  return optionalPackage<ServerPackage>('@foothold/server', where)
}

/** Where a server listens unless told. */
export const SERVER_PORT = 4_400
