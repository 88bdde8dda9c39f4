// The metrics of a federation in the text format of Prometheus. Peers appear by name only if they are among the 50 that most deliveries
// wait for; the others are `other`.

import type { SendingContext } from '../context.ts'
import { bucketBounds, counters, type FederationMetrics, histograms } from './federation-metrics.ts'

const prefix = 'holdfast_federation_'
const namedPeers = 50

/** @param slotsUsed attempts that this process runs, by queue */
export async function exposition(
  { store, clock, metrics }: Pick<SendingContext, 'store' | 'clock' | 'metrics'>,
  slotsUsed: Readonly<Record<string, number>>,
): Promise<string> {
  const [states, backlogs, all] = await Promise.all([
    store.peerStates.counts(),
    store.deliveries.backlogs(0, namedPeers),
    store.deliveries.waiting(),
  ])
  const named = backlogs.map(({ serverUrl, count }) => series('parked', { peer: serverUrl }, count))
  const others = all.count - backlogs.reduce((sum, { count }) => sum + count, 0)
  const age = all.oldestAt === undefined ? 0 : Math.max(0, clock.now() - all.oldestAt) / 1_000
  const lines = [
    ...counterLines(metrics),
    ...histogramLines(metrics),
    ...block(
      'peers',
      'gauge',
      'Peers by state of their contacts, in the profile hardened.',
      Object.entries(states).map(([state, count]) => series('peers', { state }, count)),
    ),
    ...block('parked', 'gauge', 'Deliveries that wait, by peer.', [
      ...named,
      series('parked', { peer: 'other' }, Math.max(0, others)),
    ]),
    ...block('oldest_parked_seconds', 'gauge', 'Age of the oldest delivery that waits.', [
      series('oldest_parked_seconds', {}, age),
    ]),
    ...block(
      'slots_used',
      'gauge',
      'Attempts that this process runs, by queue.',
      Object.entries(slotsUsed).map(([pool, count]) => series('slots_used', { pool }, count)),
    ),
  ]
  return `${lines.join('\n')}\n`
}

function counterLines(metrics: FederationMetrics): string[] {
  return Object.entries(counters).flatMap(([name, [label, help]]) => {
    const counts = [...metrics.counts(name as keyof typeof counters)]
    const shown = label === '' && counts.length === 0 ? [['', 0] as const] : counts
    return block(
      `${name}_total`,
      'counter',
      help,
      shown.map(([value, count]) => series(`${name}_total`, label === '' ? {} : { [label]: value }, count)),
    )
  })
}

function histogramLines(metrics: FederationMetrics): string[] {
  return Object.entries(histograms).flatMap(([name, help]) => {
    const histogram = metrics.histogram(name as keyof typeof histograms)
    if (!histogram) return []
    let below = 0
    const buckets = histogram.buckets.map((count, index) => {
      below += count
      return series(`${name}_seconds_bucket`, { le: String(bucketBounds[index] ?? '+Inf') }, below)
    })
    return block(`${name}_seconds`, 'histogram', help, [
      ...buckets,
      series(`${name}_seconds_sum`, {}, histogram.sum),
      series(`${name}_seconds_count`, {}, below),
    ])
  })
}

function block(name: string, type: string, help: string, lines: readonly string[]): string[] {
  return lines.length === 0 ? [] : [`# HELP ${prefix}${name} ${help}`, `# TYPE ${prefix}${name} ${type}`, ...lines]
}

/** Label values are of closed sets, or origins, which have no quote, backslash or line break. */
function series(name: string, labels: Readonly<Record<string, string>>, value: number): string {
  const text = Object.entries(labels).map(([label, of]) => `${label}="${of}"`)
  return `${prefix}${name}${text.length > 0 ? `{${text.join(',')}}` : ''} ${value}`
}
