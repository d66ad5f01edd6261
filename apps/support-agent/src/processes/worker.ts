import { connect, type Foothold } from 'foothold'
import { type Composition, compose } from '../composition.ts'
import { type Config, requireSet } from '../config.ts'
import { alertChannels } from './alert-channels.ts'
import { endRequest, tellReady } from './lifeline.ts'
import { log } from './log.ts'

/** Runs support tasks until asked to end: then drains, hands over, and leaves with 0 when nothing was left behind. */
export async function runWorker(config: Config): Promise<number> {
  const end = endRequest()
  const services = requireSet(config, ['databaseUrl', 'gigachat', 'crm', 'telegram'])
  const prepare = async (): Promise<{ composition: Composition; foothold: Foothold }> => {
    const composition = await compose(services, log)
    const alerts = alertChannels(config.onCall, services.telegram)
    const options = { directUrl: config.directUrl ?? undefined, signal: end.signal, alerts }
    return { composition, foothold: await connect(services.databaseUrl, options) }
  }
  const prepared = await end.unless(prepare())
  if (prepared === null) return 0
  const { composition, foothold } = prepared
  const worker = foothold.worker({
    agents: [composition.agent],
    concurrency: config.concurrency,
    ...(config.release === null ? {} : { release: config.release }),
    ...(config.operations === null
      ? {}
      : { operations: { ...config.operations, token: config.metricsToken ?? undefined } }),
  })
  const started = await end.unless(worker.start().then(() => true))
  if (started !== null) tellReady({ worker: worker.id })

  await end.requested
  void end.hurried.then(() => worker.drain({ graceMs: 0 }))
  const { leftBehind } = await worker.drain()
  await foothold.close()
  await composition.close()
  return leftBehind.length === 0 ? 0 : 1
}
