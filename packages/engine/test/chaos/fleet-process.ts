import * as present from '../../src/index.ts'
import { type FleetCode, fleetAgent } from './fleet-agent.ts'

/** A worker of one release, in a process of its own. Its first argument is JSON. */
export interface FleetProcessSettings extends FleetCode {
  readonly url: string
  readonly concurrency?: number
  /** The one before knows nothing of what the newest migrations brought. Default: the present one. */
  readonly library?: 'before'
}

const settings = JSON.parse(process.argv[2] as string) as FleetProcessSettings
const tell = (message: object): void => void process.send?.(message)
const told = (fields: object, message: string): void => tell({ message, ...fields })
const library: typeof present =
  settings.library === undefined ? present : await import('../library-before/library.js' as string)
const foothold = await library.connect(settings.url, {
  migrate: false,
  logger: { debug: () => undefined, info: told, warn: told, error: told },
})
// A parent that is gone must not leave a worker behind.
const orphaned = (): never => process.exit(3)
process.on('disconnect', orphaned)
const { url, release, concurrency = 10 } = settings
const options = { heartbeatMs: 1_000, leaseMs: 20_000, graceMs: 800, concurrency, release }
await foothold.worker({ agents: [fleetAgent(url, settings, library)], ...options }).run()
process.off('disconnect', orphaned)
process.disconnect?.()
