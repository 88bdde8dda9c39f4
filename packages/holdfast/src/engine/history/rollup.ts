// What happened in a span of time, per type: counts, and how long jobs waited and ran. Storages keep jobs, not time series; workers write
// these beside them (recorder.ts), and read-history.ts adds them up.

import type { Bytes } from '../../storage/storage.ts'
import type { KvKey } from '../../storage/kv.ts'

/** Upper bounds of the buckets, in ms; the last bucket has none. */
const bucketBoundsMs: readonly number[] = [10, 50, 100, 250, 500, 1_000, 2_500, 5_000, 15_000, 60_000, 300_000]
const buckets = bucketBoundsMs.length + 1

/** Numbers of one type in one span. */
export interface Tally {
  completed: number
  /** Attempts that failed, and whose jobs are retried. */
  retried: number
  failed: number
  /** Leases that were lost. */
  stalled: number
  cancelled: number
  /** Time that handlers ran, in all, in ms. */
  ranMs: number
  /** From due to started, by bucket. */
  readonly wait: number[]
  readonly run: number[]
}

/** Stored types with labels of their own; all others are added up under `''`. */
const mostTypes = 200
export const otherTypes = ''

export type Rollup = Map<string, Tally>

/** Minutes are kept for a day, hours for 30 days. */
export const spans = {
  minute: { ms: 60_000, keptMs: 86_400_000, perGroup: 60 },
  hour: { ms: 3_600_000, keptMs: 30 * 86_400_000, perGroup: 24 },
} as const
export type SpanName = keyof typeof spans

const root: KvKey = ['holdfast', 'rollups']

/** Minutes are grouped by hour and hours by day, so that a list reads those that it needs. */
export const groupKey = (span: SpanName, group: number): KvKey => [...root, span, String(group).padStart(10, '0')]

export function spanKey(span: SpanName, at: number): KvKey {
  const { ms, perGroup } = spans[span]
  const number = Math.floor(at / ms)
  return [...groupKey(span, Math.floor(number / perGroup)), String(number).padStart(10, '0')]
}

export const newTally = (): Tally => ({
  completed: 0,
  retried: 0,
  failed: 0,
  stalled: 0,
  cancelled: 0,
  ranMs: 0,
  wait: Array.from({ length: buckets }, () => 0),
  run: Array.from({ length: buckets }, () => 0),
})

export function tallyOf(rollup: Rollup, type: string): Tally {
  const known = rollup.get(type)
  if (known) return known
  if (rollup.size >= mostTypes && type !== otherTypes) return tallyOf(rollup, otherTypes)
  const made = newTally()
  rollup.set(type, made)
  return made
}

export function addTo(sum: Tally, more: Tally): void {
  for (const key of ['completed', 'retried', 'failed', 'stalled', 'cancelled', 'ranMs'] as const) sum[key] += more[key]
  for (const key of ['wait', 'run'] as const) more[key].forEach((count, index) => (sum[key][index]! += count))
}

export function merge(into: Rollup, from: Rollup): void {
  for (const [type, tally] of from) addTo(tallyOf(into, type), tally)
}

export function countInto(histogram: number[], ms: number): void {
  const index = bucketBoundsMs.findIndex((bound) => ms <= bound)
  histogram[index === -1 ? bucketBoundsMs.length : index]!++
}

/** About how long the given share took at most, in ms: inside a bucket by its place. Undefined: nothing was measured. */
export function quantile(histogram: readonly number[], share: number): number | undefined {
  const total = histogram.reduce((sum, count) => sum + count, 0)
  if (total === 0) return undefined
  let below = 0
  for (const [index, count] of histogram.entries()) {
    if (below + count >= share * total) {
      const from = bucketBoundsMs[index - 1] ?? 0
      const to = bucketBoundsMs[index] ?? from
      return Math.round(from + (to - from) * (count === 0 ? 1 : (share * total - below) / count))
    }
    below += count
  }
  return bucketBoundsMs.at(-1)
}

export const encodeRollup = (rollup: Rollup): Bytes => Buffer.from(JSON.stringify([...rollup]))

/** Undefined for an entry that another version wrote in another form. */
export function decodeRollup(bytes: Bytes): Rollup | undefined {
  try {
    const entries = JSON.parse(Buffer.from(bytes).toString()) as [string, Tally][]
    const isSound = entries.every(([, { wait, run }]) => wait.length === buckets && run.length === buckets)
    if (!isSound) return undefined
    // Earlier entries have no such sum.
    for (const [, tally] of entries) tally.ranMs ??= 0
    return new Map(entries)
  } catch {
    return undefined
  }
}
