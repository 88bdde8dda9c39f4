// The metrics on a meter of OpenTelemetry: the same instruments as those of Prometheus, with dotted names. Only the part of the API that is
// called is typed here.

import { bucketBounds, gauges, type Instrument } from './instruments.ts'
import type { Recorder } from './measure.ts'
import type { StorageGauges } from './storage-gauges.ts'

type Attributes = Record<string, string>

interface InstrumentOptions {
  readonly description?: string
  readonly unit?: string
  readonly advice?: { readonly explicitBucketBoundaries?: number[] }
}

type ObserveGauge = (result: { observe(value: number, attributes?: Attributes): void }) => void | Promise<void>

interface ObservableGauge {
  addCallback(callback: ObserveGauge): void
  removeCallback(callback: ObserveGauge): void
}

/** What is used of a meter of `@opentelemetry/api`. */
export interface OtelMeter {
  createCounter(name: string, options?: InstrumentOptions): { add(value: number, attributes?: Attributes): void }
  createHistogram(name: string, options?: InstrumentOptions): { record(value: number, attributes?: Attributes): void }
  createObservableGauge(name: string, options?: InstrumentOptions): ObservableGauge
}

/** Makes each instrument with its first figure, so that a provider may be registered after otel(). */
export class OtelRecorder implements Recorder {
  readonly #meter: () => OtelMeter
  readonly #counters = new Map<Instrument, ReturnType<OtelMeter['createCounter']>>()
  readonly #histograms = new Map<Instrument, ReturnType<OtelMeter['createHistogram']>>()

  constructor(meter: () => OtelMeter) {
    this.#meter = meter
  }

  add(instrument: Instrument, labels: readonly string[], count: number): void {
    let counter = this.#counters.get(instrument)
    if (!counter) {
      counter = this.#meter().createCounter(instrument.name, optionsOf(instrument))
      this.#counters.set(instrument, counter)
    }
    counter.add(count, attributesOf(instrument, labels))
  }

  observe(instrument: Instrument, labels: readonly string[], seconds: number): void {
    let histogram = this.#histograms.get(instrument)
    if (!histogram) {
      const advice = { explicitBucketBoundaries: [...bucketBounds] }
      histogram = this.#meter().createHistogram(instrument.name, { ...optionsOf(instrument), advice })
      this.#histograms.set(instrument, histogram)
    }
    histogram.record(seconds, attributesOf(instrument, labels))
  }
}

/** All gauges of one collection share one read of the storage. @returns a function that ends it */
export function observeStorage(meter: OtelMeter, storage: StorageGauges): () => void {
  const ends = Object.values(gauges).map((instrument) => {
    const gauge = meter.createObservableGauge(instrument.name, optionsOf(instrument))
    const observe: ObserveGauge = async (result) => {
      for (const sample of await storage.samples()) {
        if (sample.instrument === instrument) result.observe(sample.value, attributesOf(instrument, sample.labels))
      }
    }
    gauge.addCallback(observe)
    return () => gauge.removeCallback(observe)
  })
  return () => ends.forEach((end) => end())
}

const optionsOf = ({ help, unit }: Instrument): InstrumentOptions => ({ description: help, unit })

const attributesOf = ({ labels }: Instrument, values: readonly string[]): Attributes =>
  Object.fromEntries(labels.map((label, index) => [`holdfast.${label}`, values[index]!]))
