// A strict parser of Prometheus' text format 0.0.4. It refuses what a scrape would refuse, and what a careful reader would: a sample
// without help and type, a metric in two blocks, two samples of one series, a histogram whose buckets are not cumulated.

export interface ParsedSample {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

interface ParsedMetric {
  readonly name: string
  readonly type: string
  readonly help: string
  readonly samples: readonly ParsedSample[]
}

type Building = ParsedMetric & { readonly samples: ParsedSample[] }

const metricName = /^[a-zA-Z_:][a-zA-Z0-9_:]*$/
const sampleLine = /^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)$/
const labelPair = /([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\\\|\\"|\\n)*)"(,|$)/y
const numberText = /^(?:[+-]Inf|NaN|[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?)$/i

/** @throws Error that names the line */
export function parseExposition(text: string): Map<string, ParsedMetric> {
  if (!text.endsWith('\n')) throw new Error('the last line does not end')
  const metrics = new Map<string, Building>()
  let current: Building | undefined
  let help: readonly [name: string, text: string] | undefined
  const seen = new Set<string>()
  for (const line of text.slice(0, -1).split('\n')) {
    const refuse = (why: string): Error => new Error(`${why}: ${line}`)
    if (line.startsWith('# HELP ')) {
      const [, name, words] = /^# HELP (\S+) (.+)$/.exec(line) ?? []
      if (!name || !words) throw refuse('a help without a text')
      help = [name, words]
    } else if (line.startsWith('# TYPE ')) {
      const [, name, type] = /^# TYPE (\S+) (counter|gauge|histogram)$/.exec(line) ?? []
      if (!name || !type || !metricName.test(name)) throw refuse('a wrong type line')
      if (help?.[0] !== name) throw refuse('a type without its help before it')
      if (metrics.has(name)) throw refuse('a second block of a metric')
      if (type === 'counter' && !name.endsWith('_total')) throw refuse('a counter that does not end in _total')
      current = { name, type, help: help[1], samples: [] }
      metrics.set(name, current)
    } else {
      const [, name, inner, value] = sampleLine.exec(line) ?? []
      if (!name || !value || !numberText.test(value)) throw refuse('not a sample')
      if (!current || !namesOf(current).includes(name)) throw refuse('a sample outside the block of its metric')
      const labels = inner === undefined ? {} : parseLabels(inner, refuse)
      const key = JSON.stringify([name, Object.entries(labels).toSorted()])
      if (seen.has(key)) throw refuse('a second sample of one series')
      seen.add(key)
      current.samples.push({ name, labels, value: numberOf(value) })
    }
  }
  for (const metric of metrics.values()) {
    if (metric.samples.length === 0) throw new Error(`${metric.name} has no sample`)
    if (metric.type === 'histogram') checkHistogram(metric)
    if (metric.type === 'counter' && metric.samples.some(({ value }) => !(value >= 0))) {
      throw new Error(`${metric.name}: a counter below 0`)
    }
  }
  return metrics
}

const namesOf = ({ name, type }: ParsedMetric): string[] =>
  type === 'histogram' ? [`${name}_bucket`, `${name}_sum`, `${name}_count`] : [name]

function parseLabels(text: string, refuse: (why: string) => Error): Record<string, string> {
  const labels: Record<string, string> = Object.create(null) as Record<string, string>
  labelPair.lastIndex = 0
  while (labelPair.lastIndex < text.length) {
    const found = labelPair.exec(text)
    if (!found) throw refuse('wrong labels')
    const [, name, value] = found as unknown as [string, string, string]
    if (name in labels) throw refuse('a label twice')
    labels[name] = value.replace(/\\(.)/g, (_, escaped: string) => (escaped === 'n' ? '\n' : escaped))
  }
  return { ...labels }
}

function numberOf(text: string): number {
  if (/inf$/i.test(text)) return text.startsWith('-') ? -Infinity : Infinity
  return Number(text)
}

function checkHistogram({ name, samples }: ParsedMetric): void {
  const groups = Map.groupBy(samples, ({ labels }) =>
    JSON.stringify(
      Object.entries(labels)
        .filter(([label]) => label !== 'le')
        .toSorted(),
    ),
  )
  for (const [labels, own] of groups) {
    const buckets = own.filter((sample) => sample.name.endsWith('_bucket'))
    const [count] = own.filter((sample) => sample.name.endsWith('_count'))
    const [sum] = own.filter((sample) => sample.name.endsWith('_sum'))
    const bounds = buckets.map((bucket) => numberOf(bucket.labels.le ?? 'NaN'))
    const isSorted = bounds.every((bound, index) => index === 0 || bound > bounds[index - 1]!)
    const isCumulated = buckets.every(({ value }, index) => index === 0 || value >= buckets[index - 1]!.value)
    if (!isSorted || !isCumulated) throw new Error(`${name}${labels}: its buckets are not sorted and cumulated`)
    if (bounds.at(-1) !== Infinity) throw new Error(`${name}${labels}: it has no bucket +Inf`)
    if (!sum || !count || count.value !== buckets.at(-1)!.value) throw new Error(`${name}${labels}: its count is wrong`)
  }
}
