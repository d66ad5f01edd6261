import type { MetricSpec } from './catalogue.ts'

/** A metric with its values at one moment. */
export interface Family {
  readonly name: string
  readonly help: string
  readonly type: MetricSpec['type']
  readonly labels: readonly string[]
  readonly samples: readonly Sample[]
}

export interface Sample {
  /** The family's name, with `_bucket`, `_sum` or `_count` for a histogram. */
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

/**
 * Series of one metric. Reasons and models are free words of authors and providers: a word made of an id must cost a
 * bounded amount of memory here and in Prometheus.
 */
const SERIES_MAX = 2_000
const HISTOGRAM_SERIES_MAX = 200
const REST = 'other'

/** Label values in the order of the metric's labels. */
type LabelValues = readonly string[]

export class Counter {
  readonly #spec: MetricSpec
  readonly #series: SeriesMap<{ value: number }>

  constructor(spec: MetricSpec) {
    this.#spec = spec
    this.#series = new SeriesMap(spec, SERIES_MAX, () => ({ value: 0 }))
  }

  add(values: LabelValues, by = 1): void {
    this.#series.at(values).value += by
  }

  /** A counter that first shows itself with 1 has not increased, in the eyes of Prometheus. */
  expect(values: LabelValues): void {
    this.#series.at(values)
  }

  family(): Family {
    const samples = this.#series.map((labels, { value }) => [{ name: this.#spec.name, labels, value }])
    return familyOf(this.#spec, samples)
  }
}

export class Histogram {
  readonly #spec: MetricSpec
  readonly #buckets: readonly number[]
  readonly #series: SeriesMap<{ readonly counts: number[]; sum: number; count: number }>

  constructor(spec: MetricSpec) {
    this.#spec = spec
    const buckets = spec.buckets ?? []
    this.#buckets = buckets
    this.#series = new SeriesMap(spec, HISTOGRAM_SERIES_MAX, () => ({
      counts: buckets.map(() => 0),
      sum: 0,
      count: 0,
    }))
  }

  observe(values: LabelValues, seconds: number): void {
    const series = this.#series.at(values)
    const index = this.#buckets.findIndex((bound) => seconds <= bound)
    if (index >= 0) series.counts[index] = (series.counts[index] as number) + 1
    series.sum += seconds
    series.count += 1
  }

  expect(values: LabelValues): void {
    this.#series.at(values)
  }

  family(): Family {
    const { name } = this.#spec
    const samples = this.#series.map((labels, { counts, sum, count }) => {
      let below = 0
      const buckets = this.#buckets.map((bound, index) => {
        below += counts[index] as number
        return { name: `${name}_bucket`, labels: { ...labels, le: String(bound) }, value: below }
      })
      return [
        ...buckets,
        { name: `${name}_bucket`, labels: { ...labels, le: '+Inf' }, value: count },
        { name: `${name}_sum`, labels, value: sum },
        { name: `${name}_count`, labels, value: count },
      ]
    })
    return familyOf(this.#spec, samples)
  }
}

/** Values that are looked up when somebody asks. */
export function gauge(spec: MetricSpec, values: readonly (readonly [LabelValues, number])[]): Family {
  const samples = values.map(([labels, value]) => ({ name: spec.name, labels: labelled(spec, labels), value }))
  return familyOf(spec, samples)
}

class SeriesMap<Series> {
  readonly #series = new Map<string, { readonly labels: Record<string, string>; readonly series: Series }>()
  readonly #spec: MetricSpec
  readonly #max: number
  readonly #create: () => Series

  constructor(spec: MetricSpec, max: number, create: () => Series) {
    this.#spec = spec
    this.#max = max
    this.#create = create
    if (spec.labels.length === 0) this.at([])
  }

  at(values: LabelValues): Series {
    const key = values.join('\0')
    const found = this.#series.get(key)
    if (found !== undefined) return found.series
    const isFull = this.#series.size >= this.#max
    const rest = this.#spec.labels.map(() => REST)
    if (isFull && key !== rest.join('\0')) return this.at(rest)
    const series = this.#create()
    this.#series.set(key, { labels: labelled(this.#spec, values), series })
    return series
  }

  map(toSamples: (labels: Readonly<Record<string, string>>, series: Series) => readonly Sample[]): readonly Sample[] {
    return [...this.#series.values()].flatMap(({ labels, series }) => toSamples(labels, series))
  }
}

function labelled({ labels }: MetricSpec, values: LabelValues): Record<string, string> {
  return Object.fromEntries(labels.map((label, index) => [label, values[index] ?? '']))
}

function familyOf({ name, help, type, labels }: MetricSpec, samples: readonly Sample[]): Family {
  return { name, help, type, labels, samples }
}
