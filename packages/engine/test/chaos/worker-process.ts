import { connect } from '../../src/index.ts'
import { type KillPoint, killAt } from '../../src/testing/index.ts'
import { familyAgents } from './family-agents.ts'
import { ledgerAgent } from './ledger-agent.ts'

/** A worker in a process of its own, to be killed, frozen and stopped. Its first argument is JSON. */
export interface WorkerProcessSettings {
  readonly url: string
  readonly receiver: 'keys' | 'find'
  /** Where the outside world keeps its books. Default: `url`. */
  readonly ledgerUrl?: string
  readonly pauseMs?: number
  readonly killAt?: readonly KillPoint[]
  readonly concurrency?: number
  readonly heartbeatMs?: number
  readonly leaseMs?: number
  readonly graceMs?: number
  readonly release?: string
  readonly lifeline?: boolean
}

const settings = JSON.parse(process.argv[2] as string) as WorkerProcessSettings
if (settings.killAt !== undefined) killAt(...settings.killAt)
const tell = (message: object): void => void process.send?.(message)
const foothold = await connect(settings.url, {
  migrate: false,
  logger: {
    debug: () => undefined,
    info: (fields, message) => tell({ message, ...fields }),
    warn: (fields, message) => tell({ message, ...fields }),
    error: (fields, message) => tell({ message, ...fields }),
  },
})
const {
  url,
  receiver,
  pauseMs = 0,
  heartbeatMs = 200,
  leaseMs = 1_000,
  concurrency = 10,
  graceMs = 2_000,
  release,
  lifeline,
} = settings
// A parent that is gone must not leave a worker behind.
const orphaned = (): never => process.exit(3)
process.on('disconnect', orphaned)
const agents = [
  ...familyAgents(settings.ledgerUrl ?? url),
  ledgerAgent(settings.ledgerUrl ?? url, { receiver, pauseMs, onStep: (step) => tell({ step }) }),
]
await foothold.worker({ agents, heartbeatMs, leaseMs, concurrency, graceMs, release, lifeline }).run()
process.off('disconnect', orphaned)
process.disconnect?.()
