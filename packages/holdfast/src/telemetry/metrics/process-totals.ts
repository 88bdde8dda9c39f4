// The counters and histograms of this process, kept for scrapes.

import { bucketBounds, type Instrument } from './instruments.ts'
import type { Recorder } from './measure.ts'

export interface Distribution {
  /** Observations per bucket, not cumulated; the last one has no upper bound. */
  readonly buckets: number[]
  sum: number
}

interface Series<T> {
  readonly instrument: Instrument
  readonly labels: readonly string[]
  value: T
}

export class ProcessTotals implements Recorder {
  readonly #counters = new Map<Instrument, Map<string, Series<number>>>()
  readonly #distributions = new Map<Instrument, Map<string, Series<Distribution>>>()

  add(instrument: Instrument, labels: readonly string[], count: number): void {
    seriesOf(this.#counters, instrument, labels, () => 0).value += count
  }

  observe(instrument: Instrument, labels: readonly string[], seconds: number): void {
    const { value } = seriesOf(this.#distributions, instrument, labels, noObservations)
    const index = bucketBounds.findIndex((bound) => seconds <= bound)
    value.buckets[index === -1 ? bucketBounds.length : index]!++
    value.sum += seconds
  }

  counters(instrument: Instrument): readonly Readonly<Series<number>>[] {
    return [...(this.#counters.get(instrument)?.values() ?? [])]
  }

  distributions(instrument: Instrument): readonly Readonly<Series<Distribution>>[] {
    return [...(this.#distributions.get(instrument)?.values() ?? [])]
  }
}

const noObservations = (): Distribution => ({
  buckets: Array.from({ length: bucketBounds.length + 1 }, () => 0),
  sum: 0,
})

/** Label values have no U+0000: names with it are refused. */
function seriesOf<T>(
  all: Map<Instrument, Map<string, Series<T>>>,
  instrument: Instrument,
  labels: readonly string[],
  initial: () => T,
): Series<T> {
  let ofInstrument = all.get(instrument)
  if (!ofInstrument) all.set(instrument, (ofInstrument = new Map()))
  const key = labels.join('\u0000')
  let series = ofInstrument.get(key)
  if (!series) ofInstrument.set(key, (series = { instrument, labels, value: initial() }))
  return series
}
