// The text format of Prometheus, version 0.0.4: one block per metric, with its help and its type.

import { bucketBounds, counters, gauges, histograms, type Instrument, prometheusName } from './instruments.ts'
import type { ProcessTotals } from './process-totals.ts'
import type { Sample } from './storage-gauges.ts'

export const expositionType = 'text/plain; version=0.0.4; charset=utf-8'

/** Metrics without a series are left out, except counters without labels, which begin at 0. */
export function exposition(totals: ProcessTotals, samples: readonly Sample[], version: string): string {
  const lines = [
    '# HELP holdfast_info Version of Holdfast.',
    '# TYPE holdfast_info gauge',
    `holdfast_info${labelText(['version'], [version])} 1`,
  ]
  for (const instrument of Object.values(counters)) {
    const series = totals.counters(instrument)
    const shown = series.length === 0 && instrument.labels.length === 0 ? [{ labels: [], value: 0 }] : series
    write(
      lines,
      instrument,
      shown.map(({ labels, value }) => line(instrument, '', labels, value)),
    )
  }
  for (const instrument of Object.values(histograms)) write(lines, instrument, histogramLines(instrument, totals))
  for (const instrument of Object.values(gauges)) {
    const own = samples.filter((sample) => sample.instrument === instrument)
    write(
      lines,
      instrument,
      own.map(({ labels, value }) => line(instrument, '', labels, value)),
    )
  }
  return `${lines.join('\n')}\n`
}

function write(lines: string[], instrument: Instrument, series: readonly string[]): void {
  if (series.length === 0) return
  const name = prometheusName(instrument)
  lines.push(`# HELP ${name} ${escapeHelp(instrument.help)}`, `# TYPE ${name} ${instrument.kind}`)
  for (const text of series) lines.push(text)
}

function histogramLines(instrument: Instrument, totals: ProcessTotals): string[] {
  return totals.distributions(instrument).flatMap(({ labels, value: { buckets, sum } }) => {
    const names = [...instrument.labels, 'le']
    let below = 0
    const cumulated = buckets.map((count, index) => {
      below += count
      const bound = bucketBounds[index]
      return `${prometheusName(instrument)}_bucket${labelText(names, [...labels, bound === undefined ? '+Inf' : String(bound)])} ${below}`
    })
    return [...cumulated, line(instrument, '_sum', labels, sum), line(instrument, '_count', labels, below)]
  })
}

const line = (instrument: Instrument, suffix: string, labels: readonly string[], value: number): string =>
  `${prometheusName(instrument)}${suffix}${labelText(instrument.labels, labels)} ${value}`

function labelText(names: readonly string[], values: readonly string[]): string {
  if (names.length === 0) return ''
  return `{${names.map((name, index) => `${name}="${escapeLabel(values[index]!)}"`).join(',')}}`
}

const escapeLabel = (text: string): string =>
  text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')

const escapeHelp = (text: string): string => text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n')
