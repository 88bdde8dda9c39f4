// Rates: how much was started in the last `perMs`, in bounded memory.
//
// Starts are counted in buckets that span at most a 20th of the window. A bucket counts whole until its last start has left the
// window. So in no interval of `perMs` do starts weigh more than the limit, and under constant demand at least 95 % of it is
// used. About 21 buckets are kept, however many starts there are.

import type { Rate } from '../../storage.ts'

/** Starts that are counted together: the instants of the first and the last one, and their weight. */
export type Bucket = readonly [first: number, last: number, weight: number]

/** The counted starts of a type or group. */
export interface RateUse {
  /** The window of the rate at the last start. It decides when the buckets are deleted. */
  readonly perMs: number
  /** The oldest first. */
  readonly buckets: readonly Bucket[]
}

export const bucketsPerWindow = 20

/** What a start takes. A job that is heavier than the limit takes all of it: it would never start otherwise. */
const costOf = ({ limit }: Rate, weight: number): number => Math.min(weight, limit)

const isCounted = ([, last]: Bucket, perMs: number, now: number): boolean => last + perMs > now

/** The weight in the window that ends now. */
export function usedOf(use: RateUse | undefined, { perMs }: Rate, now: number): number {
  let used = 0
  for (const bucket of use?.buckets ?? []) if (isCounted(bucket, perMs, now)) used += bucket[2]
  return used
}

/** The first instant at which a start of this weight is possible: now, or when enough of the oldest buckets have left. */
export function freesAt(use: RateUse | undefined, rate: Rate, weight: number, now: number): number {
  if (!use) return now
  let excess = usedOf(use, rate, now) + costOf(rate, weight) - rate.limit
  if (excess <= 0) return now
  let at = now
  for (const bucket of use.buckets) {
    if (!isCounted(bucket, rate.perMs, now)) continue
    excess -= bucket[2]
    // After a step back of the clock, a later bucket may leave first.
    at = Math.max(at, bucket[1] + rate.perMs)
    if (excess <= 0) break
  }
  return at
}

/** The counted starts with one more. */
export function withStart(use: RateUse | undefined, rate: Rate, weight: number, now: number): RateUse {
  const { perMs } = rate
  const buckets = (use?.buckets ?? []).filter((bucket) => isCounted(bucket, perMs, now))
  const cost = costOf(rate, weight)
  const current = buckets.at(-1)
  if (current && now - current[0] < perMs / bucketsPerWindow) {
    buckets[buckets.length - 1] = [current[0], Math.max(current[1], now), current[2] + cost]
  } else {
    buckets.push([now, now, cost])
  }
  return { perMs, buckets }
}

/** True if no start is counted any more: the buckets may be deleted. */
export function isWindowOver(use: RateUse | undefined, now: number): boolean {
  return !use?.buckets.some((bucket) => isCounted(bucket, use.perMs, now))
}
