import { gigachat } from '@foothold/models'
import { services } from '../agent/services.ts'
import { startGuarded } from './guarded.ts'
import type { WorkerMessage, WorkerSettings } from './messages.ts'
import { startNaive } from './naive.ts'

/** A worker process: told its settings over the channel, runs until SIGTERM, and never outlives the demo. */
const settings = await new Promise<WorkerSettings>((resolve) => {
  process.once('message', (message) => resolve(message as WorkerSettings))
})
process.on('disconnect', () => process.exit(1))
// The terminal's Ctrl-C is for the demo, which then stops its workers.
process.on('SIGINT', () => undefined)

const tell = (message: WorkerMessage): void => {
  process.send?.(message, undefined, undefined, () => undefined)
}
const outside = { model: gigachat(settings.gigachat).model, services: services(settings.services) }
const start = settings.guard === 'on' ? startGuarded : startNaive
const worker = await start(settings, outside, tell)

process.on('SIGTERM', () => {
  void worker.stop().then(({ handedOver }) => {
    const farewell: WorkerMessage = { type: 'drained', handedOver }
    process.send?.(farewell, undefined, undefined, () => process.exit(0))
  })
})
tell({ type: 'ready' })
