// Robust statistics: a median is not affected by one round on a busy machine.

export function median(values: readonly number[]): number {
  return quantile(values.toSorted(ascending), 0.5)
}

/** @param share 0.99 for the 99th percentile */
export function percentile(values: readonly number[], share: number): number {
  return quantile(values.toSorted(ascending), share)
}

export interface Spread {
  readonly median: number
  readonly min: number
  readonly max: number
}

export function spreadOf(values: readonly number[]): Spread {
  return { median: median(values), min: Math.min(...values), max: Math.max(...values) }
}

/** Interpolates between two neighbours. */
function quantile(sorted: readonly number[], share: number): number {
  const place = (sorted.length - 1) * share
  const below = sorted[Math.floor(place)] ?? NaN
  const above = sorted[Math.ceil(place)] ?? NaN
  return below + (above - below) * (place - Math.floor(place))
}

const ascending = (a: number, b: number): number => a - b
