import { FootholdError } from '../protocol/errors.ts'
import type { Exposition, MetricsRegistry } from '../protocol/foothold.ts'
import type { Database } from '../store/database.ts'
import { METRICS } from './catalogue.ts'
import { createDatabaseGauges } from './database-gauges.ts'
import { measureEventLoopLag } from './event-loop-lag.ts'
import { EXPOSITION_TYPE, expositionOf } from './exposition.ts'
import type { Family } from './instruments.ts'
import { Meter } from './meter.ts'

/** All that this process exports: what it did, how it is, and what the database says about the whole system. */
export interface Metrics {
  readonly meter: Meter
  /** Adds every metric to a registry of prom-client, which asks for values when it is scraped. */
  mergeInto(registry: MetricsRegistry): void
  exposition(): Promise<Exposition>
  stop(): void
}

export function createMetrics(db: Database): Metrics {
  const meter = new Meter()
  const lag = measureEventLoopLag()
  const database = createDatabaseGauges(db)
  const merged = new WeakSet<object>()
  let collecting: Promise<readonly Family[]> | null = null

  async function collect(): Promise<readonly Family[]> {
    const { families, agents } = await database.families()
    meter.knows(agents)
    return [...meter.families(), lag.family(), ...families]
  }

  /** A registry asks for its metrics one by one, all in one turn: they answer with one and the same moment. */
  function collectOnce(): Promise<readonly Family[]> {
    collecting ??= collect().finally(() => {
      collecting = null
    })
    return collecting
  }

  return {
    meter,
    mergeInto(registry) {
      if (merged.has(registry)) return
      for (const spec of Object.values(METRICS)) {
        const { name, help, type, labels } = spec
        const get = async (): Promise<object> => {
          const { samples = [] } = (await collectOnce()).find((family) => family.name === name) ?? {}
          const values = samples.map((sample) => ({
            metricName: sample.name,
            labels: sample.labels,
            value: sample.value,
          }))
          return { name, help, type, values, aggregator: 'sum' }
        }
        const metric = { name, help, type, labelNames: labels, get, reset: () => undefined }
        register(registry, metric)
      }
      merged.add(registry)
    },
    async exposition() {
      return { contentType: EXPOSITION_TYPE, text: expositionOf(await collectOnce()) }
    },
    stop: () => lag.stop(),
  }
}

function register(registry: MetricsRegistry, metric: { readonly name: string }): void {
  try {
    registry.registerMetric(metric as never)
  } catch (cause) {
    throw new FootholdError(
      'INVALID_ARGUMENT',
      {
        field: 'registry',
        problem: `it does not take ${metric.name}`,
        cure: 'Give a Registry of prom-client 15, and each connection one of its own.',
      },
      { cause },
    )
  }
}
