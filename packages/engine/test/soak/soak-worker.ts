import { connect } from '../../src/index.ts'
import { cutGuards, type GuardName } from './guards.ts'
import { soakAgent } from './soak-agent.ts'

/** A worker in a process of its own, as an application runs one. Its first argument is JSON. */
export interface SoakWorkerSettings {
  readonly url: string
  readonly booksUrl: string
  readonly concurrency: number
  readonly heartbeatMs: number
  readonly leaseMs: number
  readonly without: readonly GuardName[]
}

export type ToSoakWorker = { readonly blockMs: number }

/** `started`: its row stands. `cut`: a statement has lost the guard of this name. */
export type FromSoakWorker = { readonly started: true } | { readonly cut: GuardName }

const { url, booksUrl, concurrency, heartbeatMs, leaseMs, without } = JSON.parse(
  process.argv[2] as string,
) as SoakWorkerSettings
const tell = (message: FromSoakWorker): void => void process.send?.(message)
// A parent that is gone must not leave a worker behind.
const orphaned = (): never => process.exit(3)
process.on('disconnect', orphaned)

const cut = new Set<GuardName>()
cutGuards(without, (name) => {
  if (cut.has(name)) return
  cut.add(name)
  tell({ cut: name })
})
process.on('message', ({ blockMs }: ToSoakWorker) => {
  const endsAt = performance.now() + blockMs
  while (performance.now() < endsAt);
})

const foothold = await connect(url, { migrate: false, logger: 'silent' })
const worker = foothold.worker({
  agents: [soakAgent(booksUrl, { forgetsKeys: without.includes('keys') })],
  concurrency,
  heartbeatMs,
  leaseMs,
  graceMs: 3_000,
})
await worker.start()
tell({ started: true })
if (without.includes('keys')) tell({ cut: 'keys' })
if (without.includes('drain')) {
  tell({ cut: 'drain' })
  // No handler: a stop signal ends it as it ends any program.
} else {
  await worker.run()
  process.off('disconnect', orphaned)
  process.disconnect?.()
}
